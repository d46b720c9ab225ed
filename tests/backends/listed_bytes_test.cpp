// Weights of a byte whose groups of rows list their columns, on tensor cores: elements of X are gathered into
// lines along k, as PTX in the simulator, which sees races and memory that nobody wrote, and by its meaning.
// Integers, so that every result is exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <array>
#include <map>
#include <vector>

#include "formats/generated_matrices.h"
#include "search/space_problems.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using test::expect_exact;
using testing::HasSubstr;

struct ListedSize {
  std::int64_t rows = 0, depth = 0, columns = 0;
};

WeightMatrix listed_numbers(const ListedSize& size, const Format& format, DType dtype) {
  WeightMatrix matrix = fitted(random_matrix(size.rows, size.depth, 0.3, 3, dtype), format);
  matrix.values = random_array(dtype, {matrix.stored()}, 5, RandomValues::small_integers);
  return matrix;
}

struct Multiplied {
  ListedSize size;
  DType dtype = DType::e4m3;
  ProductLayout layout = ProductLayout::nk;
  Epilogue epilogue = {};
};

Schedule listed_product(const Multiplied& product, const Format& format, const std::string& target,
                        const ShflBwKnobs& knobs = {}) {
  const auto& [rows, depth, columns] = product.size;
  const auto weights = packed(listed_numbers(product.size, format, product.dtype), format);
  const Algorithm algorithm =
      spmm_algorithm(rows, depth, Extent(columns), product.dtype, product.epilogue, product.layout);
  return formats::keeps_two_of_four(format) ? v_n_m(algorithm, weights, target_named(target), knobs)
                                            : shfl_bw(algorithm, weights, target_named(target), knobs);
}

bool has_words(const Schedule& schedule, const std::string& words) {
  return schedule.cpp().find(words) != std::string::npos;
}

/// Every size of columns meets every format, type, layout and target that has such tensor cores.
TEST(ListedColumnsOfBytes, OddSizes) {
  constexpr std::array all_columns{1, 7, 9, 17, 33, 72};
  constexpr std::array types{DType::e4m3, DType::i8, DType::e5m2};
  int number = 0;
  for (const std::int64_t columns : all_columns) {
    for (const Format& format :
         {formats::shfl_bw({.rows = 64}), formats::vector_wise({.rows = 32}), formats::v_n_m({.rows = 64}),
          formats::vector_wise({.rows = 128, .places = 64}), formats::v_n_m({.rows = 16, .columns = 16})}) {
      const DType dtype = types.at(number % 3);
      const std::string target = number % 2 == 0 ? "sm_90a" : "sm_89";
      const ProductLayout layout = number % 4 < 3 ? ProductLayout::nk : ProductLayout::kn;
      const ListedSize size{129 + 7 * (number % 3), 201 + 31 * (number % 4), columns};
      const Epilogue epilogue{.bias = true,
                              .activation = number % 2 == 0 ? Activation::relu : Activation::none};
      SCOPED_TRACE(testing::Message() << format.text() << " " << name_of(dtype) << " on " << target << ", "
                                      << columns << " columns");
      ++number;
      const Schedule schedule = listed_product({size, dtype, layout, epilogue}, format, target);
      EXPECT_TRUE(has_words(schedule, "tensorize")) << schedule.cpp();
      // Of few columns and where all warps copy, elements of [n, k] are gathered.
      const bool turns_words = columns > 32 && target == "sm_90a";
      EXPECT_EQ(has_words(schedule, "transpose(\"B\")"), (layout == ProductLayout::kn) != turns_words)
          << schedule.cpp();
      expect_exact(schedule);
    }
  }
}

/// Of many columns producers turn words of X [k, n], which a launch brings in that order.
TEST(ListedColumnsOfBytes, WordsOfManyColumns) {
  constexpr std::array types{DType::e4m3, DType::i8, DType::e5m2};
  int number = 0;
  for (const std::int64_t columns : {33, 48, 129, 270}) {
    for (const Format& format :
         {formats::shfl_bw({.rows = 64}), formats::vector_wise({.rows = 128, .places = 64}),
          formats::v_n_m({.rows = 64}), formats::v_n_m({.rows = 32, .columns = 16})}) {
      const ProductLayout layout = number % 2 == 0 ? ProductLayout::nk : ProductLayout::kn;
      const ListedSize size{129 + 7 * (number % 3), 201 + 31 * (number % 4), columns};
      SCOPED_TRACE(testing::Message() << format.text() << ", " << columns << " columns, " << number);
      const Schedule schedule =
          listed_product({size, types.at(number++ % 3), layout, {.bias = true}}, format, "sm_90a");
      EXPECT_EQ(has_words(schedule, "transpose(\"B\")"), layout == ProductLayout::nk) << schedule.cpp();
      EXPECT_THAT(compile(schedule).ptx(), HasSubstr("prmt.b32"));
      expect_exact(schedule);
    }
  }
  const Format groups = formats::shfl_bw({.rows = 64}), pairs = formats::v_n_m({.rows = 64});
  for (const ShflBwKnobs& knobs : {ShflBwKnobs{.tile_n = 32, .stages = 5, .producers = 4, .elements = 0},
                                   ShflBwKnobs{.tile_n = 32, .groups = 3, .producers = 4, .elements = 0},
                                   ShflBwKnobs{.tile_n = 64, .producers = 4, .blocks = 2, .elements = 0},
                                   ShflBwKnobs{.tile_n = 128, .producers = 4, .blocks = 0, .elements = 0}}) {
    expect_exact(listed_product({{200, 500, 9}}, groups, "sm_90a", knobs));
    expect_exact(listed_product({{200, 500, 64}, DType::i8, ProductLayout::kn}, pairs, "sm_90a", knobs));
  }
  // Every way in which lanes share out a batch, of one batch a tile and of several.
  for (const auto& [places, widths] : std::map<std::int64_t, std::vector<std::int64_t>>{
           {32, {64, 128, 256}}, {64, {32, 64, 128, 256}}, {128, {32, 64, 128}}}) {
    for (const std::int64_t width : widths)
      expect_exact(listed_product(
          {{130, 400, 150}, width % 128 == 0 ? DType::e4m3 : DType::i8, ProductLayout::kn}, groups, "sm_90a",
          {.tile_n = width, .tile_k = places, .producers = 4, .elements = 0}));
  }
  expect_exact(overlapped(listed_product({{150, 300, 40}}, groups, "sm_90a")));
  expect_exact(listed_product({{70, 300, 40}}, groups, "sm_90a", {.tile_k = 32, .elements = 0}));
  expect_exact(listed_product({{70, 300, 40}}, pairs, "sm_90a", {.tile_k = 256, .elements = 0}));
}

/// Few terms, so that their sums times both scales are numbers that f16 has.
TEST(ListedColumnsOfBytes, ScalesComeBehindTheSum) {
  const Epilogue epilogue{.row_scale = true, .column_scale = true, .bias = true};
  for (const DType dtype : {DType::e4m3, DType::i8}) {
    for (const char* target : {"sm_89", "sm_90a"}) {
      const Multiplied product{{150, 40, 9}, dtype, ProductLayout::nk, epilogue};
      expect_exact(listed_product(product, formats::shfl_bw({.rows = 64}), target));
      expect_exact(listed_product(product, formats::v_n_m({.rows = 32}), target));
    }
  }
}

/// One tile a block, several, parts of sums; several batches of elements; less than a line of 128 bytes.
TEST(ListedColumnsOfBytes, EveryWayThroughTiles) {
  const Format groups = formats::shfl_bw({.rows = 64}), pairs = formats::v_n_m({.rows = 64});
  for (const ShflBwKnobs& knobs :
       {ShflBwKnobs{.tile_n = 16, .stages = 5, .blocks = 0}, ShflBwKnobs{.tile_n = 32, .blocks = 3},
        ShflBwKnobs{.tile_n = 16, .groups = 3, .producers = 4}, ShflBwKnobs{.tile_n = 32, .groups = 2},
        ShflBwKnobs{.tile_n = 64, .stages = 2, .producers = 0},
        ShflBwKnobs{.tile_n = 64, .stages = 1, .producers = 0}, ShflBwKnobs{.tile_n = 128, .blocks = 2}}) {
    ShflBwKnobs by_elements = knobs;
    by_elements.elements = 1;
    expect_exact(listed_product({{200, 500, 40}}, groups, "sm_90a", by_elements));
    expect_exact(listed_product({{200, 500, 40}, DType::i8}, pairs, "sm_90a", by_elements));
  }
  expect_exact(listed_product({{70, 300, 9}}, groups, "sm_90a", {.tile_n = 16, .tile_k = 32}));
  expect_exact(listed_product({{70, 300, 9}}, pairs, "sm_90a", {.tile_n = 16, .tile_k = 256}));
  expect_exact(listed_product({{70, 300, 9}}, groups, "sm_89", {.tile_n = 16, .tile_k = 64, .groups = 2}));
  expect_exact(listed_product({{70, 300, 40}, DType::i8}, groups, "sm_80", {.stages = 2}));
  // Left to the recipe, words need whole tiles of them, and warps with roles four stages.
  expect_exact(listed_product({{70, 300, 40}}, groups, "sm_90a", {.tile_n = 16}));
  expect_exact(listed_product({{70, 300, 40}}, groups, "sm_90a", {.stages = 2}));
  expect_exact(listed_product({{70, 300, 40}}, pairs, "sm_90", {}));
}

TEST(ListedColumnsOfBytes, InstructionsAreThoseOfBytes) {
  const Format groups = formats::shfl_bw({.rows = 64}), pairs = formats::v_n_m({.rows = 64});
  const auto has = [](const Schedule& schedule, const std::string& instruction) {
    EXPECT_THAT(schedule.cpp(), HasSubstr(instruction));
  };
  has(listed_product({{64, 256, 8}}, groups, "sm_90a"), "\"wgmma_m64n16k32\", promote = 1");
  has(listed_product({{64, 256, 8}}, pairs, "sm_90a"), "\"wgmma_sp_m64n16k64\", promote = 1");
  has(listed_product({{64, 256, 8}}, groups, "sm_89"), "\"mma_m16n8k32\", promote = 1");
  has(listed_product({{64, 256, 8}}, pairs, "sm_89"), "\"mma_sp_m16n8k64\", promote = 1");
  has(listed_product({{64, 256, 8}, DType::i8}, groups, "sm_80"), "\"mma_m16n8k32\")");
  EXPECT_FALSE(has_words(listed_product({{64, 256, 8}}, groups, "sm_80"), "tensorize"));
  EXPECT_FALSE(has_words(listed_product({{64, 256, 8}}, groups, "sm_90a", {.promote = 0}), "promote"));
}

TEST(ListedColumnsOfBytes, AsCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] " << cuda::compiler_status().sentence;
  expect_exact(listed_product({{70, 300, 9}}, formats::shfl_bw({.rows = 64}), "sm_90a"), Emitter::cuda);
  expect_exact(listed_product({{70, 300, 17}, DType::i8}, formats::v_n_m({.rows = 64}), "sm_90a"),
               Emitter::cuda);
  expect_exact(listed_product({{70, 300, 72}}, formats::shfl_bw({.rows = 64}), "sm_90a"), Emitter::cuda);
}

/// The space has the point that is taken unasked, and every point of a few that is drawn from it is right.
TEST(ListedColumnsOfBytes, SpacesHaveThem) {
  const ListedSize size{150, 300, 17};
  for (const Format& format : {formats::shfl_bw({.rows = 64}), formats::v_n_m({.rows = 64})}) {
    const auto matrix = std::make_shared<const WeightMatrix>(listed_numbers(size, format, DType::e4m3));
    const SpaceProblem problem{
        spmm_algorithm(size.rows, size.depth, Extent(size.columns), DType::e4m3, {}, ProductLayout::nk),
        matrix, format};
    for (const char* name : {"sm_90a", "sm_90", "sm_89"}) {
      SCOPED_TRACE(testing::Message() << format.text() << " on " << name);
      const Target& target = target_named(name);
      const Space space = space_of(formats::keeps_two_of_four(format) ? "v_n_m" : "shfl_bw", problem, target);
      const std::optional<KnobValues> usual = space.usual();
      ASSERT_TRUE(usual);
      EXPECT_EQ(usual->at("elements"), 1);
      EXPECT_EQ(space.violated(*usual), nullptr);
      EXPECT_EQ(ir::print(space.schedule(*usual).program()),
                ir::print(listed_product({size}, format, name).program()));
      const Points points = space.worth_trying();
      ASSERT_GT(points.size(), 10U);
      for (std::size_t number = 0; number < 5; ++number) {
        const KnobValues point = points[points.size() * (2 * number + 1) / 10];
        SCOPED_TRACE(space.text(point));
        expect_exact(space.schedule(point));
      }
    }
  }
}

TEST(ListedColumnsOfBytes, WhatHasNoLinesAlongTheSumIsRefused) {
  const Format groups = formats::shfl_bw({.rows = 64});
  const auto said = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(said([&] { listed_product({{64, 256, 8}}, groups, "sm_89", {.elements = 0}); }),
              HasSubstr("elements = 0 on sm_89 without producers"));
  EXPECT_THAT(said([&] { listed_product({{64, 256, 8}}, groups, "sm_90a", {.tile_n = 16, .elements = 0}); }),
              HasSubstr("multiples of 32"));
  EXPECT_THAT(said([&] { listed_product({{64, 256, 8}}, groups, "sm_90a", {.tile_k = 256}); }),
              HasSubstr("from 16 to 128"));
  EXPECT_THAT(
      said([] { space_of("v_n_m", mixed_problem(256, 256, 8, DType::e4m3), target_named("sm_90a")); }),
      HasSubstr("not of mixed"));
}

}  // namespace
}  // namespace weft
