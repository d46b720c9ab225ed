// Results of a byte: rounded to nearest with ties to even, saturated, NaN as the type has it, the same to the
// last bit on every machine; divided by their scale before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "formats/generated_matrices.h"
#include "search/space_problems.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::array types_of_results{DType::i8, DType::e4m3, DType::e5m2};

/// Ties, ends, what is beyond them, subnormal numbers, infinities and NaN.
std::vector<double> hard_results() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> numbers{0,    0.5,  1.5,     2.5,     0.25,   126.5, 127,      127.5,  128.5,  1e9,
                              432,  448,  464,     480,     57344,  61440, 65504,    0x1p-7, 0x1p-9, 0x1p-10,
                              17.0, 19.0, 0x1p-16, 0x1p-17, 1.0625, 1.125, infinity, 1.1875, 3.3,    0x1p-24};
  for (const double number : std::vector<double>(numbers)) numbers.push_back(-number);
  numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

/// One weight of 1, so that sums are the elements of B.
template <class Factor, class Result>
void expect_hard_results(const Target& target, const Device& device, Emitter emitter = Emitter::llvm) {
  WEFT_INDEX(m, n, k);
  SCOPED_TRACE(testing::Message() << name_of(dtype_of<Factor>) << " to " << name_of(dtype_of<Result>)
                                  << " on " << target.name);
  const std::vector<double> numbers = hard_results();
  const auto count = std::ssize(numbers);
  Array b(dtype_of<Factor>, {1, count}), c(dtype_of<Result>, {1, count}), one(dtype_of<Factor>, {1, 1});
  for (std::int64_t i = 0; i < count; ++i) b.set(i, numbers[static_cast<std::size_t>(i)]);
  for (std::int64_t i = 0; i < count; ++i) c.set(i, 3);
  one.set(0, 1);
  const Tensor<Factor, 2, sparse> A("A", {1, 1});
  const Tensor<Factor, 2> B("B", {1, count});
  const Tensor<Result, 2> C("C", {1, count});
  const Algorithm algorithm = weft::algorithm("stored", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const auto weights = std::make_shared<const SparseTensor>(pack(from_dense(one, "one"), formats::csr()));
  compile(default_schedule(algorithm, weights, target), {.emitter = emitter, .assemble = false})(
      device, {{{"B", &b}, {"C", &c}}, {}});
  const Array expected = b.converted(dtype_of<Result>);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool same = c.get(i) == expected.get(i) || (std::isnan(c.get(i)) && std::isnan(expected.get(i)));
    EXPECT_TRUE(same) << b.get(i) << " became " << c.get(i) << ", not " << expected.get(i);
  }
}

template <class Factor>
void expect_hard_results_of_all(const Target& target, const Device& device, Emitter emitter = Emitter::llvm) {
  expect_hard_results<Factor, i8>(target, device, emitter);
  expect_hard_results<Factor, e4m3>(target, device, emitter);
  expect_hard_results<Factor, e5m2>(target, device, emitter);
}

TEST(ByteResults, OfAProcessorAreRoundedAndSaturated) {
  expect_hard_results_of_all<f32>(target_named("cpu"), Device::cpu());
  expect_hard_results_of_all<f16>(target_named("cpu"), Device::cpu());
  expect_hard_results_of_all<f64>(target_named("cpu"), Device::cpu());
}

TEST(ByteResults, OfAGpuAreRoundedAndSaturated) {
  for (const char* name : {"sm_75", "sm_89", "sm_90a"}) {
    expect_hard_results_of_all<f32>(target_named(name), Device::simulator(name));
    expect_hard_results_of_all<f64>(target_named(name), Device::simulator(name));
  }
  expect_hard_results_of_all<bf16>(target_named("sm_90a"), Device::simulator("sm_90a"));
}

TEST(ByteResults, OfCudaSourceAreRoundedAndSaturated) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] no compiler of CUDA source";
  expect_hard_results_of_all<f32>(target_named("sm_90a"), Device::simulator("sm_90a"), Emitter::cuda);
  expect_hard_results_of_all<f64>(target_named("sm_80"), Device::simulator("sm_80"), Emitter::cuda);
}

/// A product whose results are divided by a scale, most of them beyond the numbers of i8 and some beyond
/// e4m3.
struct ByteProduct {
  std::int64_t rows = 128, depth = 192, columns = 72;
  DType factors = DType::f16;
  ProductLayout layout = ProductLayout::kn;

  Algorithm algorithm(DType results) const {
    return spmm_algorithm(
        rows, depth, columns, factors,
        {.bias = true, .activation = Activation::none, .result_scale = true, .result_type = results}, layout);
  }
  std::shared_ptr<const SparseTensor> weights(const Format& format) const {
    WeightMatrix matrix = fitted(random_matrix(rows, depth, 0.3, 3, factors), format);
    matrix.values = random_array(factors, {matrix.stored()}, 5, RandomValues::small_integers);
    return packed(matrix, format);
  }
  void expect_right(const Schedule& schedule, const Device& device) const {
    const DType results = schedule.algorithm().operands[schedule.algorithm().output.operand].dtype;
    SCOPED_TRACE(testing::Message() << schedule.weights()->format().text() << " " << name_of(factors)
                                    << " to " << name_of(results) << " on " << schedule.target().name << ", "
                                    << (layout == ProductLayout::kn ? "kn" : "nk"));
    const bool outer = layout == ProductLayout::kn;
    Array b = random_array(factors, outer ? std::vector{depth, columns} : std::vector{columns, depth}, 1,
                           RandomValues::small_integers);
    Array bias = random_array(DType::f32, {rows}, 2);
    Array c(results, outer ? std::vector{rows, columns} : std::vector{columns, rows});
    const Verification found =
        verify(compile(schedule), device, {{{"B", &b}, {"bias", &bias}, {"C", &c}}, {{"c_scale", 0.375}}});
    EXPECT_TRUE(found.passed) << found.text() << "\n" << schedule.cpp();
  }
};

TEST(ByteResults, LeaveTensorCoresInWholeLines) {
  const Target& newest = target_named("sm_90a");
  const Device device = Device::simulator("sm_90a");
  int number = 0;
  for (const ProductLayout layout : {ProductLayout::kn, ProductLayout::nk}) {
    for (const std::int64_t columns : {72, 80}) {
      const ByteProduct product{.columns = columns, .layout = layout};
      const DType results = types_of_results.at(static_cast<std::size_t>(number++ % 3));
      const Schedule groups =
          shfl_bw(product.algorithm(results), product.weights(formats::shfl_bw({.rows = 64})), newest);
      EXPECT_THAT(groups.cpp(), HasSubstr("reorder_writeback(\"C\""));
      product.expect_right(groups, device);
      product.expect_right(
          v_n_m(product.algorithm(results), product.weights(formats::v_n_m({.rows = 64})), newest), device);
      product.expect_right(v_n_m(product.algorithm(results), product.weights(formats::n_m()), newest),
                           device);
      product.expect_right(hb_ell(product.algorithm(results), product.weights(formats::hb_ell()), newest),
                           device);
    }
  }
  const ByteProduct product;
  product.expect_right(shfl_bw(product.algorithm(DType::e4m3),
                               product.weights(formats::shfl_bw({.rows = 32})), target_named("sm_80")),
                       Device::simulator("sm_80"));
}

/// The steps that weights of a byte are multiplied by where results are of f16, with results of a byte.
TEST(ByteResults, OfFactorsOfAByteLeaveTensorCores) {
  for (const DType factors : {DType::i8, DType::e4m3}) {
    const ByteProduct product{.factors = factors, .layout = ProductLayout::nk};
    for (const Format& format : {formats::n_m(), formats::shfl_bw({.rows = 64})}) {
      const auto weights = product.weights(format);
      const Algorithm halves = product.algorithm(DType::f16);
      const Target& target = target_named("sm_90a");
      const Schedule steps = formats::keeps_two_of_four(format) ? v_n_m(halves, weights, target)
                                                                : shfl_bw(halves, weights, target);
      Schedule schedule(product.algorithm(factors), weights, target);
      for (const Step& step : steps.steps()) schedule.apply(step);
      EXPECT_THAT(schedule.cpp(), HasSubstr("tensorize"));
      product.expect_right(schedule, Device::simulator("sm_90a"));
    }
  }
}

TEST(ByteResults, AreConvertedTwoAtATime) {
  const ByteProduct product;
  const auto weights = product.weights(formats::shfl_bw({.rows = 64}));
  const auto ptx_of = [&](DType results, const char* target) {
    return compile(shfl_bw(product.algorithm(results), weights, target_named(target)), {.assemble = false})
        .ptx();
  };
  EXPECT_THAT(ptx_of(DType::e4m3, "sm_90a"), HasSubstr("cvt.rn.satfinite.e4m3x2.f32"));
  EXPECT_THAT(ptx_of(DType::e5m2, "sm_90a"), HasSubstr("cvt.rn.satfinite.e5m2x2.f32"));
  EXPECT_THAT(ptx_of(DType::i8, "sm_80"), HasSubstr("cvt.pack.sat.s8.s32.b32"));
  EXPECT_THAT(ptx_of(DType::e4m3, "sm_80"), Not(HasSubstr("satfinite"))) << "which that GPU does not have";
}

/// What was stored counts as its number times the scale.
TEST(ByteResults, TheOldOnesAreMultipliedByTheirScale) {
  Array one(DType::f32, {1, 1}), b(DType::f32, {1, 4}), c(DType::i8, {1, 4});
  one.set(0, 1);
  const std::array<double, 4> sums{1, 2, -3, 100}, before{10, -20, 30, 127};
  for (std::int64_t i = 0; i < 4; ++i) b.set(i, sums.at(static_cast<std::size_t>(i)));
  for (std::int64_t i = 0; i < 4; ++i) c.set(i, before.at(static_cast<std::size_t>(i)));
  const Algorithm algorithm =
      spmm_algorithm(1, 1, 4, DType::f32, {.beta = true, .result_scale = true, .result_type = DType::i8});
  EXPECT_THAT(algorithm.scalars, testing::UnorderedElementsAre("beta", "c_scale"));
  const auto weights = std::make_shared<const SparseTensor>(pack(from_dense(one, "one"), formats::csr()));
  compile(default_schedule(algorithm, weights, target_named("cpu")))(
      Device::cpu(), {{{"B", &b}, {"C", &c}}, {{"beta", 2}, {"c_scale", 0.5}}});
  const std::array<double, 4> expected{22, -36, 54, 127};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(c.get(i), expected.at(static_cast<std::size_t>(i))) << i;
}

}  // namespace
}  // namespace weft
