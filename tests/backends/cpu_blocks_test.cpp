// Blocks of columns on a CPU: exact where numbers allow it, on sizes that nothing divides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/cpu/cpu_blocks.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>

#include "support/exact_on_cpu.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const Target& cpu() {
  return target_named("cpu");
}

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& weights, std::int64_t columns) {
  return std::make_shared<const SparseTensor>(pack(weights, formats::column_blocks(columns)));
}

TEST(CpuBlocks, ProductsOfOddSizes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t inner : {1, 29, 70}) {
      for (const std::int64_t columns : {2, 16, 45}) {
        const WeightMatrix weights = test::small_integers(43, inner, dtype);
        test::expect_exact_on_cpu(
            cpu_blocks(spmm_algorithm(43, inner, columns, dtype), packed(weights, 16), cpu()));
      }
    }
  }
}

TEST(CpuBlocks, EveryKnobIsTakenAndTheWidthMayBeOpen) {
  const WeightMatrix weights = test::small_integers(43, 70, DType::f32);
  for (const Extent& width : {Extent(70), Extent::any("N")}) {
    const Algorithm algorithm = spmm_algorithm(43, 70, width, DType::f32);
    for (const std::int64_t panel : {8, 16, 64}) {
      for (const CpuBlockCopy copy : {CpuBlockCopy::none, CpuBlockCopy::block}) {
        for (const CpuThreads threads : {CpuThreads::panels, CpuThreads::rows})
          test::expect_exact_on_cpu(cpu_blocks(algorithm, packed(weights, 32), cpu(),
                                               {.panel = panel, .copy = copy, .threads = threads}));
      }
    }
  }
}

TEST(CpuBlocks, LinearLayers) {
  test::expect_exact_on_cpu(
      cpu_blocks(spmm_algorithm(19, 70, 37, DType::f32, {.bias = true, .activation = Activation::relu}),
                 packed(test::small_integers(19, 70, DType::f32), 32), cpu()));
}

TEST(CpuBlocks, WeightsBeyondCodeAreTakenUnasked) {
  constexpr std::int64_t rows = 4096, columns = 2048;
  const WeightMatrix weights =
      synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0.5, .dtype = DType::f32, .seed = 1});
  const Choice choice = choose(spmm_algorithm(rows, columns, 256, DType::f32), weights, cpu());
  EXPECT_THAT(choice.text(), HasSubstr("cpu_blocks"));
  std::vector<std::string> names;
  for (const Format& format : formats_worth_trying(weights, cpu())) names.push_back(format.text());
  EXPECT_THAT(names, Contains("column_blocks:columns=64"));
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const UserError& error) {
    return error.what();
  }
  return "taken";
}

TEST(CpuBlocks, WhatDoesNotFitIsSaid) {
  const WeightMatrix weights = test::small_integers(43, 29, DType::f32);
  EXPECT_THAT(
      refusal([&] { return cpu_blocks(spmm_algorithm(43, 29, 1, DType::f32), packed(weights, 8), cpu()); }),
      HasSubstr("one column"));
  const Convolution images{.channels = 29, .filters = 43, .image = {5, 7}};
  EXPECT_THAT(refusal([&] {
                return cpu_blocks(convolution_algorithm(images, DType::f32), packed(weights, 8), cpu());
              }),
              HasSubstr("an image"));
  EXPECT_THAT(refusal([&] {
                return cpu_blocks(spmm_algorithm(43, 29, 64, DType::f32), packed(weights, 8),
                                  target_named("sm_80"));
              }),
              HasSubstr("sm_80"));
  const auto csr = std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
  EXPECT_THAT(refusal([&] { return cpu_blocks(spmm_algorithm(43, 29, 64, DType::f32), csr, cpu()); }),
              HasSubstr("column_blocks"));
}

}  // namespace
}  // namespace weft
