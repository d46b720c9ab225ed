// Groups of rows on a CPU: exact where numbers allow it, on sizes that nothing divides, in every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/cpu/cpu_groups.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <algorithm>

#include "support/exact_on_cpu.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const Target& cpu() {
  return target_named("cpu");
}

/// Small integers; rows `group` apart keep the same columns, one of them has none, one all.
WeightMatrix weights_of(std::int64_t rows, std::int64_t columns, DType dtype) {
  constexpr std::int64_t group = 7;
  Array dense = random_array(dtype, {rows, columns}, 11, RandomValues::small_integers);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const bool all = row == rows - 1, none = row == rows / 2;
      if (none || (!all && (row % group * 7 + column * 5) % 11 < 7)) dense.set(row * columns + column, 0);
    }
  }
  return from_dense(dense, "small integers");
}

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& weights, std::int64_t rows) {
  return std::make_shared<const SparseTensor>(pack(weights, formats::column_vectors(rows)));
}

TEST(CpuGroups, ProductsOfOddSizes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t rows : {4, 16}) {
      for (const std::int64_t columns : {2, 16, 45}) {
        const WeightMatrix weights = weights_of(43, 29, dtype);
        test::expect_exact_on_cpu(
            cpu_groups(spmm_algorithm(43, 29, columns, dtype), packed(weights, rows), cpu()));
      }
    }
  }
}

TEST(CpuGroups, EveryKnobIsTaken) {
  const WeightMatrix weights = weights_of(43, 29, DType::f32);
  const Algorithm algorithm = spmm_algorithm(43, 29, 70, DType::f32);
  for (const std::int64_t panel : {8, 16, 64}) {
    for (const CpuCopy copy : {CpuCopy::none, CpuCopy::panel}) {
      for (const CpuThreads threads : {CpuThreads::panels, CpuThreads::rows})
        test::expect_exact_on_cpu(cpu_groups(algorithm, packed(weights, 8), cpu(),
                                             {.panel = panel, .copy = copy, .threads = threads}));
    }
  }
}

TEST(CpuGroups, ConvolutionsInEveryLayout) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn}) {
    for (const std::int64_t stride : {1, 2}) {
      const Convolution images{.batch = 2,
                               .channels = 5,
                               .filters = 19,
                               .image = {9, 13},
                               .filter = {3, 3},
                               .pad = {1, 1},
                               .stride = {stride, stride},
                               .layout = layout};
      const WeightMatrix weights = weights_of(19, 45, DType::f32);
      const Algorithm algorithm = convolution_algorithm(images, DType::f32);
      SCOPED_TRACE(name_of(layout));
      test::expect_exact_on_cpu(cpu_groups(algorithm, packed(weights, 8), cpu()));
      test::expect_exact_on_cpu(cpu_groups(algorithm, packed(weights, 4), cpu(),
                                           {.panel = 16, .lines = 2, .copy = CpuCopy::image}));
    }
  }
}

TEST(CpuGroups, WeightsOfGroupsAreTakenUnasked) {
  constexpr std::int64_t size = 128, kinds = 8;  // 16 rows of each kind
  Array dense(DType::f16, {size, size});
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < size; ++column)
      if ((row % kinds * 7 + column * 5) % 11 >= 7)
        dense.set(row * size + column, static_cast<double>(1 + row % 3));
  }
  const WeightMatrix weights = from_dense(dense, "groups");
  std::vector<std::string> names;
  for (const Format& format : formats_worth_trying(weights, cpu())) names.push_back(format.text());
  EXPECT_THAT(names, Contains("column_vectors:V=8"));
  const Choice choice = choose(spmm_algorithm(size, size, 256, DType::f16), weights, cpu());
  const auto place_of = [&](const char* recipe) {
    return std::ranges::find_if(choice.ways, [&](const Way& way) { return way.recipe->name == recipe; });
  };
  // Code for the weights goes before both where there is any.
  EXPECT_LT(place_of("cpu_groups"), place_of("cpu_rows")) << choice.text();
}

TEST(CpuGroups, WhatItDoesNotTakeIsSaid) {
  const WeightMatrix weights = weights_of(43, 29, DType::f32);
  using test::refusal;
  EXPECT_THAT(refusal([&] { cpu_groups(spmm_algorithm(43, 29, 1, DType::f32), packed(weights, 8), cpu()); }),
              HasSubstr("one column"));
  EXPECT_THAT(refusal([&] {
                cpu_groups(spmm_algorithm(43, 29, 64, DType::f32), packed(weights, 8), cpu(), {.lines = 3});
              }),
              HasSubstr("lines = 3"));
  EXPECT_THAT(refusal([&] {
                cpu_groups(spmm_algorithm(43, 29, 64, DType::f32), packed(weights, 8), target_named("sm_80"));
              }),
              HasSubstr("sm_80"));
  EXPECT_THAT(refusal([&] {
                const auto csr = std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
                cpu_groups(spmm_algorithm(43, 29, 64, DType::f32), csr, cpu());
              }),
              HasSubstr("column_vectors"));
}

}  // namespace
}  // namespace weft
