// One column that is picked out of registers on a CPU: right on sizes that nothing divides, and by the
// instruction that it is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/expression.h>
#include <weft/dsl/index.h>
#include <weft/dsl/tensor.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/cpu/cpu_windows.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>

#include "support/exact_on_cpu.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

WEFT_INDEX(m);
WEFT_INDEX(k);

const Target& wide() {
  return target_named("x86-64-v4");
}

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& weights) {
  return std::make_shared<const SparseTensor>(pack(weights, formats::column_windows()));
}

TEST(CpuWindows, AreRightAtOddSizes) {
  for (const std::int64_t rows : {1, 16, 43}) {
    for (const std::int64_t columns : {32, 33, 129}) {
      const auto weights = packed(test::small_integers(rows, columns));
      for (const std::int64_t sums : {1, 2, 4}) {
        test::expect_exact_on_cpu(cpu_windows(spmm_algorithm(rows, columns, 1, DType::f32), weights,
                                              target_named("cpu"), {.sums = sums}));
      }
      for (const std::int64_t width : {2, 3, 8})
        test::expect_exact_on_cpu(
            cpu_windows(spmm_algorithm(rows, columns, width, DType::f32), weights, target_named("cpu")));
      const Tensor<f32, 2, sparse> A("A", {rows, columns});
      const Tensor<f32, 1> B("B", {columns}), C("C", {rows});
      const Algorithm vector = algorithm("vector", C(m) = sum(k, A(m, k) * B(k)));
      test::expect_exact_on_cpu(cpu_windows(vector, weights, target_named("cpu")));
    }
  }
}

TEST(CpuWindows, PickElementsOutOfRegisters) {
  for (const std::int64_t width : {1, 2, 8}) {
    const Kernel kernel = compile(cpu_windows(spmm_algorithm(64, 256, width, DType::f32),
                                              packed(test::small_integers(64, 256)), wide()));
    const std::string text = kernel.assembly();
    EXPECT_THAT(text, testing::AnyOf(HasSubstr("vpermi2ps"), HasSubstr("vpermt2ps"))) << width;
    EXPECT_THAT(text, Not(HasSubstr("vgather"))) << width;
  }
}

TEST(CpuWindows, AreTakenUnaskedForOneColumn) {
  const WeightMatrix weights =
      synthetic_layer({.rows = 512, .columns = 1024, .sparsity = 0.7, .dtype = DType::f32, .seed = 3});
  EXPECT_THAT(formats_worth_trying(weights, wide()), Contains(formats::column_windows()));
  const Choice choice = choose(spmm_algorithm(512, 1024, 1, DType::f32), weights, wide());
  EXPECT_EQ(choice.ways.front().recipe->name, "cpu_windows") << choice.text();
  const Choice gathered =
      choose(spmm_algorithm(512, 1024, 1, DType::f32), weights, target_named("x86-64-v3"));
  EXPECT_EQ(gathered.ways.front().recipe->name, "cpu_rows") << gathered.text();
}

TEST(CpuWindows, WhatTheyDoNotTakeIsSaid) {
  using test::refusal;
  const auto weights = packed(test::small_integers(43, 64));
  const Algorithm one = spmm_algorithm(43, 64, 1, DType::f32);
  EXPECT_THAT(refusal([&] { cpu_windows(one, weights, wide(), {.sums = 3}); }), HasSubstr("sums = 3"));
  EXPECT_THAT(refusal([&] { cpu_windows(spmm_algorithm(43, 64, 9, DType::f32), weights, wide()); }),
              HasSubstr("more than eight columns"));
  EXPECT_THAT(refusal([&] { cpu_windows(one, weights, target_named("sm_80")); }), HasSubstr("sm_80"));
  EXPECT_THAT(refusal([&] {
                cpu_windows(spmm_algorithm(43, 31, 1, DType::f32), packed(test::small_integers(43, 31)),
                            wide());
              }),
              HasSubstr("32 columns"));
}

}  // namespace
}  // namespace weft
