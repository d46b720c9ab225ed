// What follows the sum is as defined, from where a function is flat to where it is steep, and beside NaN.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/dtype.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "support/naive.h"

namespace weft {
namespace {

WEFT_INDEX(m, n, k);

constexpr std::int64_t numbers = 201;

/// From -20 to 20 in steps of a fifth.
Array line(DType dtype) {
  Array array(dtype, {1, numbers});
  for (std::int64_t i = 0; i < numbers; ++i) array.set(i, static_cast<double>(i - numbers / 2) / 5);
  return array;
}

/// One weight of 1: the sums are the numbers themselves.
WeightMatrix one(DType dtype) {
  Array array(dtype, {1, 1});
  array.set(0, 1);
  return from_dense(array, "one");
}

template <class Element>
std::map<std::string, Algorithm> epilogues() {
  const Tensor<Element, 2, sparse> A("A", {1, 1});
  const Tensor<Element, 2> B("B", {1, numbers}), C("C", {1, numbers}), D("D", {1, numbers});
  const auto x = sum(k, A(m, k) * B(k, n));
  const auto of = [&](const auto& result) { return algorithm("epilogue", C(m, n) = result); };
  return {{"relu", of(relu(x))},        {"gelu", of(gelu(x))},
          {"tanh", of(tanh(x))},        {"sigmoid", of(sigmoid(x))},
          {"silu", of(silu(x))},        {"relu6", of(clamp(x, 0, 6))},
          {"max", of(max(D(m, n), x))}, {"min", of(min(x - 1, D(m, n)))},
          {"third", of(x / 3)},         {"quotient", of(silu(x) * D(m, n) / (D(m, n) * D(m, n) + 1))}};
}

template <class Element>
void expect_as_defined(const Target& target, const Device& device) {
  const WeightMatrix matrix = one(dtype_of<Element>);
  for (const auto& [name, algorithm] : epilogues<Element>()) {
    SCOPED_TRACE(name + " on " + device.description().name);
    Array b = line(dtype_of<Element>), d = line(dtype_of<Element>), c(dtype_of<Element>, {1, numbers});
    b.set(7, std::numeric_limits<double>::quiet_NaN());
    for (std::int64_t i = 0; i < numbers; ++i) d.set(i, std::sin(static_cast<double>(i)) * 4);
    Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
    if (algorithm.operands.size() > 3) arguments.tensors["D"] = &d;
    const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
    compile(default_schedule(algorithm, weights, target), {.assemble = false})(device, arguments);
    EXPECT_EQ(test::disagreement(algorithm, test::naive(algorithm, &matrix, arguments), c), "");
  }
}

TEST(Epilogue, OfAProcessorIsAsDefined) {
  expect_as_defined<f32>(target_named("cpu"), Device::cpu());
  expect_as_defined<f16>(target_named("cpu"), Device::cpu());
  expect_as_defined<f64>(target_named("cpu"), Device::cpu());
}

TEST(Epilogue, OfAGpuIsAsDefined) {
  expect_as_defined<f32>(target_named("sm_80"), Device::simulator("sm_80"));
  expect_as_defined<f16>(target_named("sm_90a"), Device::simulator("sm_90a"));
}

}  // namespace
}  // namespace weft
