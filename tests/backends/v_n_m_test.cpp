// Weights that keep two of four on sparse tensor cores, sm_80 and sm_90a: the recipe v_n_m as PTX in the
// simulator, which sees races and memory that nobody wrote, and by its meaning. Integers, so that every
// result is exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <array>
#include <cmath>

#include "formats/generated_matrices.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using test::expect_exact;
using testing::HasSubstr;
using testing::Not;
using SharedWeights = std::shared_ptr<const SparseTensor>;

/// As full as the format lets it be, but for a tenth; integers.
WeightMatrix whole_numbers(std::int64_t rows, std::int64_t columns, const Format& format,
                           DType dtype = DType::f16) {
  WeightMatrix matrix = fitted(random_matrix(rows, columns, 0.9, 3, dtype), format);
  matrix.values = random_array(dtype, {matrix.stored()}, 5, RandomValues::small_integers);
  return matrix;
}

struct Size {
  std::int64_t rows = 0, depth = 0, columns = 0;
};

Schedule product(const Size& size, const Format& format, const std::string& target,
                 const ShflBwKnobs& knobs = {}, DType dtype = DType::f16, const Epilogue& epilogue = {}) {
  return v_n_m(spmm_algorithm(size.rows, size.depth, Extent(size.columns), dtype, epilogue),
               packed(whole_numbers(size.rows, size.depth, format, dtype), format), target_named(target),
               knobs);
}

bool uses(const Schedule& schedule, const std::string& text) {
  return schedule.cpp().find(text) != std::string::npos;
}

/// Codes of an iteration are in registers that the one before it does not read: sums of one, two, three and
/// more iterations, of which the last may be without a partner; and lists of which groups have as many as
/// their columns ask for.
TEST(SparseTensorCores, IterationsOverlap) {
  for (const std::int64_t depth : {1, 64, 130, 200, 330}) {
    for (const std::int64_t stages :
         depth == 200 ? std::vector<std::int64_t>{3, 4, 5} : std::vector<std::int64_t>{4}) {
      SCOPED_TRACE(testing::Message() << depth << " columns in " << stages << " stages");
      expect_exact(
          product({150, depth, 72}, parse_format("n_m"), "sm_90a", {.tile_n = 64, .stages = stages}));
    }
  }
  expect_exact(product({300, 200, 72}, parse_format("n_m"), "sm_90a", {.tile_m = 256, .tile_k = 128}));
  Array dense(DType::f16, {260, 330});
  for (std::int64_t row = 0; row < 260; ++row) {
    for (std::int64_t column = 0; column < 330; column += 3) {
      if (row / 64 != 1 && column < 130 * (row / 64))
        dense.set(row * 330 + column, static_cast<double>(1 + row % 3));
    }
  }
  const Format quads = formats::column_quads({.rows = 64});
  expect_exact(v_n_m(spmm_algorithm(260, 330, 72, DType::f16), packed(from_dense(dense, "uneven"), quads),
                     target_named("sm_90a"), {.tile_n = 64, .stages = 4, .blocks = 2}));
}

TEST(SparseTensorCores, WarpsMultiplyOnAmpere) {
  const Schedule s = product({40, 200, 64}, formats::v_n_m({.rows = 32}), "sm_80", {.tile_n = 64});
  EXPECT_TRUE(uses(s, "mma_sp_m16n8k32")) << s.cpp();
  expect_exact(s);
  expect_exact(product({70, 150, 72}, formats::n_m({.rows = 64}), "sm_80", {.tile_n = 64, .warp_m = 16}));
  expect_exact(product({40, 300, 40}, formats::v_n_m({.rows = 16, .places = 128}), "sm_80",
                       {.tile_n = 64, .stages = 1}));
}

TEST(SparseTensorCores, WarpgroupsMultiplyOnHopper) {
  const Schedule s =
      product({70, 200, 72}, formats::v_n_m({.rows = 64}), "sm_90a", {.tile_n = 128, .producers = 0});
  EXPECT_TRUE(uses(s, "wgmma_sp_m64n64k32")) << s.cpp();
  expect_exact(s);
  expect_exact(product({130, 300, 136}, formats::n_m({.rows = 128, .places = 128}), "sm_90a",
                       {.tile_n = 128, .producers = 0}));
}

TEST(SparseTensorCores, WarpsTakeRolesOnHopper) {
  const Schedule s = product({70, 1000, 72}, formats::v_n_m({.rows = 64}), "sm_90a", {.tile_n = 128});
  EXPECT_TRUE(uses(s, "specialize_warps")) << s.cpp();
  expect_exact(s);
  expect_exact(product({500, 700, 264}, formats::v_n_m({.rows = 128, .columns = 10}), "sm_90a",
                       {.tile_n = 128, .blocks = 3}));
  expect_exact(product({300, 500, 136}, formats::n_m({.rows = 256}), "sm_90a", {.blocks = 2}));
  expect_exact(product({100, 500, 136}, formats::n_m({.rows = 32}), "sm_90a", {.tile_n = 64}));
}

TEST(SparseTensorCores, TilesOfTheSmallerOperandRunInside) {
  const ShflBwKnobs knobs{.tile_n = 64, .blocks = 3};
  const Schedule wide = product({130, 200, 264}, formats::v_n_m({.rows = 64}), "sm_90a", knobs);
  EXPECT_TRUE(uses(wide, ".persist(n.outer, \"m.block\"")) << wide.cpp();
  const Schedule tall = product({900, 200, 136}, formats::v_n_m({.rows = 64}), "sm_90a", knobs);
  EXPECT_TRUE(uses(tall, ".persist(\"m.block\", n.outer")) << tall.cpp();
  expect_exact(tall);
  const Schedule of_tall_groups = product({900, 200, 136}, formats::v_n_m({.rows = 128}), "sm_90a", knobs);
  EXPECT_TRUE(uses(of_tall_groups, ".persist(n.outer, \"m.block\"")) << of_tall_groups.cpp();
  // And, of 2:4, where each block has one tile.
  const ShflBwKnobs a_tile_each{.tile_n = 64, .blocks = 0};
  const Schedule beside = product({900, 200, 136}, formats::n_m({.rows = 64}), "sm_90a", a_tile_each);
  EXPECT_TRUE(uses(beside, ".bind(n.outer, block_x)")) << beside.cpp();
  expect_exact(beside);
  const Schedule of_wide = product({130, 200, 264}, formats::n_m({.rows = 64}), "sm_90a", a_tile_each);
  EXPECT_TRUE(uses(of_wide, ".bind(n.outer, block_y)")) << of_wide.cpp();
}

TEST(SparseTensorCores, EveryGroupAndBlock) {
  int number = 0;
  for (const std::int64_t rows : {16, 32, 64, 128}) {
    for (const std::int64_t columns : {4, 8, 10, 16, 20, 32, 40, 100}) {
      const Format format =
          formats::v_n_m({.rows = rows, .columns = columns, .places = number % 3 == 0 ? 128 : 64});
      SCOPED_TRACE(format.text());
      const Size size{rows + number % 5 * 7 + 1, 2 * columns + 90 + number, 8 + number % 7 * 9};
      ++number;
      expect_exact(product(size, format, number % 2 == 0 ? "sm_90a" : "sm_80", {.tile_n = 64}));
    }
  }
}

/// Every two sizes meet, and every group of rows, format and target.
TEST(SparseTensorCores, OddSizes) {
  constexpr std::array<std::int64_t, 4> all_columns{1, 9, 64, 136};
  int number = 0;
  for (const std::int64_t rows : {1, 33, 129, 200}) {
    for (const std::int64_t depth : {1, 3, 65, 200}) {
      for (int half = 0; half < 2; ++half) {
        const std::int64_t columns = all_columns.at((number / 8 + number / 2 + 2 * half) % 4);
        ++number;
        const std::int64_t group = std::int64_t{16} << number % 5;
        const Format format =
            number % 3 == 0 ? formats::n_m({.rows = group}) : formats::v_n_m({.rows = group, .columns = 16});
        SCOPED_TRACE(testing::Message() << format.text() << " " << rows << "x" << depth << "x" << columns);
        expect_exact(product({rows, depth, columns}, format, number % 2 == 0 ? "sm_90a" : "sm_80", {},
                             DType::f16, {.bias = true, .activation = Activation::relu}));
      }
    }
  }
}

/// Weights without any pattern, their columns in fours of which each row has two.
TEST(SparseTensorCores, AnyWeightsInFoursOfColumns) {
  int number = 0;
  for (const std::int64_t rows : {16, 64, 128, 256}) {
    for (const double density : {0.5, 0.1, 0.02}) {
      const Format format = formats::column_quads({.rows = rows, .places = number % 2 == 0 ? 64 : 128});
      SCOPED_TRACE(format.text());
      const Size size{2 * rows + number * 7 - 5, 90 + 31 * number, 8 + number % 7 * 9};
      WeightMatrix matrix = random_matrix(size.rows, size.depth, density, 3, DType::f16);
      matrix.values = random_array(DType::f16, {matrix.stored()}, 5, RandomValues::small_integers);
      const std::string target = ++number % 2 == 0 ? "sm_90a" : "sm_80";
      const Schedule schedule = v_n_m(spmm_algorithm(size.rows, size.depth, size.columns, DType::f16),
                                      packed(matrix, format), target_named(target), {.tile_n = 64});
      EXPECT_TRUE(uses(schedule, "sp_m")) << schedule.cpp();
      expect_exact(schedule);
    }
  }
}

TEST(SparseTensorCores, FoursOfColumnsHaveTheRowsThatReadLeast) {
  const auto rows_of = [](const Size& size, double density) {
    WeightMatrix matrix = random_matrix(size.rows, size.depth, density, 3, DType::f16);
    const Schedule schedule = v_n_m(spmm_algorithm(size.rows, size.depth, size.columns, DType::f16),
                                    packed(matrix, parse_format("column_quads")), target_named("sm_90a"));
    return schedule.weights()->array("values").shape().at(1);
  };
  EXPECT_EQ(rows_of({5120, 256, 4096}, 0.1), 256) << "all columns have entries in 64 rows already";
  EXPECT_EQ(rows_of({4096, 256, 4096}, 0.1), 128) << "too few tiles of 256";
  EXPECT_EQ(rows_of({4096, 2048, 4096}, 0.002), 64) << "few rows have few columns";
  EXPECT_EQ(rows_of({512, 512, 128}, 0.1), 64) << "few tiles";
}

TEST(SparseTensorCores, OtherHalves) {
  for (const char* target : {"sm_80", "sm_90a"})
    expect_exact(product({70, 150, 72}, formats::v_n_m({.rows = 64}), target, {.tile_n = 64}, DType::bf16));
}

/// X [n, k] of bytes as it lies and as a launch brings it, along k and in whole runs of 16; two words have
/// the codes of a lane.
TEST(SparseTensorCores, BytesLieAlongTheSum) {
  const auto linear = [](const Size& size, const std::string& target, DType dtype, ProductLayout layout,
                         const ShflBwKnobs& knobs = {}) {
    const Format format = formats::n_m();
    return v_n_m(spmm_algorithm(size.rows, size.depth, Extent(size.columns), dtype, {}, layout),
                 packed(whole_numbers(size.rows, size.depth, format, dtype), format), target_named(target),
                 knobs);
  };
  for (const std::string target : {"sm_89", "sm_90a"}) {
    SCOPED_TRACE(target);
    expect_exact(linear({150, 272, 40}, target, DType::e4m3, ProductLayout::nk));
    expect_exact(linear({70, 130, 72}, target, DType::e5m2, ProductLayout::nk, {.tile_n = 64}));
    expect_exact(linear({64, 300, 9}, target, DType::e4m3, ProductLayout::kn));
    expect_exact(linear({129, 144, 1}, target, DType::e4m3, ProductLayout::nk));
    expect_exact(linear({80, 520, 17}, target, DType::e4m3, ProductLayout::nk, {.tile_k = 256}));
    expect_exact(linear({80, 520, 17}, target, DType::e4m3, ProductLayout::nk, {.tile_k = 64, .groups = 2}));
  }
  // Sums of integers, and parts of them that blocks share.
  for (const std::string target : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(target);
    expect_exact(linear({150, 272, 40}, target, DType::i8, ProductLayout::nk));
    expect_exact(linear({70, 300, 9}, target, DType::i8, ProductLayout::kn, {.groups = 2}));
    expect_exact(linear({33, 250, 7}, target, DType::i8, ProductLayout::nk));
  }
  EXPECT_TRUE(uses(linear({64, 128, 64}, "sm_90a", DType::e4m3, ProductLayout::nk), "wgmma_sp_m64n64k64"));
  EXPECT_TRUE(uses(linear({64, 128, 64}, "sm_89", DType::e4m3, ProductLayout::nk), "mma_sp_m16n8k64"));
  // Without such tensor cores, and for formats that list columns, other recipes have a schedule.
  EXPECT_FALSE(uses(linear({64, 128, 64}, "sm_80", DType::e4m3, ProductLayout::nk), "tensorize"));
}

/// Sums of a stage are added to others: of e4m3 unasked, in parts of the columns where a thread has no room
/// for all twice.
TEST(SparseTensorCores, SumsArePromoted) {
  const auto linear = [](const Size& size, const std::string& target, DType dtype, const ShflBwKnobs& knobs) {
    const Format format = formats::n_m();
    return v_n_m(spmm_algorithm(size.rows, size.depth, Extent(size.columns), dtype, {}, ProductLayout::nk),
                 packed(whole_numbers(size.rows, size.depth, format, dtype), format), target_named(target),
                 knobs);
  };
  const ShflBwKnobs wide{.tile_m = 128,
                         .tile_n = 256,
                         .warp_m = 64,
                         .warp_n = 256,
                         .producer_registers = 40,
                         .consumer_registers = 232};
  const Schedule in_parts = linear({150, 400, 270}, "sm_90a", DType::e4m3, wide);
  EXPECT_THAT(in_parts.cpp(), HasSubstr(".tensorize(\"wgmma_sp_m64n128k64\", promote = 1)"));
  expect_exact(in_parts);
  expect_exact(linear({150, 400, 40}, "sm_90a", DType::f16, {.tile_n = 64, .promote = 1}));
  expect_exact(linear({150, 400, 40}, "sm_89", DType::e5m2, {.tile_n = 64, .groups = 2}));
  const Schedule roughly = linear({150, 400, 40}, "sm_90a", DType::e4m3, {.promote = 0});
  EXPECT_THAT(roughly.cpp(), Not(HasSubstr("promote")));
  expect_exact(roughly);
  EXPECT_THROW(linear({64, 128, 64}, "sm_90a", DType::i8, {.promote = 1}), UserError);
}

TEST(SparseTensorCores, Epilogues) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const Epilogue& epilogue :
         {Epilogue{.alpha = true, .beta = true}, Epilogue{.bias = true, .activation = Activation::relu}})
      expect_exact(
          product({70, 150, 72}, formats::v_n_m({.rows = 64}), target, {.tile_n = 64}, DType::f16, epilogue));
  }
}

TEST(SparseTensorCores, BlocksShareASum) {
  for (const char* target : {"sm_80", "sm_90a"})
    expect_exact(product({70, 700, 72}, formats::v_n_m({.rows = 64}), target, {.tile_n = 64, .groups = 3}));
}

/// Tiles of few columns, which leave shared memory to weights under way, and blocks that share a sum while
/// some of their warps only copy; or to which the sums are dealt (0).
TEST(SparseTensorCores, FewColumns) {
  const Epilogue epilogue{.bias = true, .activation = Activation::relu};
  for (const std::int64_t columns : {1, 8, 12, 17, 32}) {
    for (const std::int64_t groups : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << columns << " columns, " << groups << " blocks");
      ShflBwKnobs knobs{
          .tile_n = columns <= 16 ? 16 : 32, .stages = 5, .groups = groups, .producers = columns > 1 ? 4 : 0};
      if (groups == 0) knobs.blocks = columns == 12 ? 3 : 7;
      expect_exact(product({150, 700, columns}, formats::n_m({.rows = 128, .places = 128}), "sm_90a", knobs,
                           DType::f16, epilogue));
      expect_exact(product({70, 900, columns}, formats::v_n_m({.rows = 64}), "sm_90a", knobs));
      expect_exact(product({40, 300, columns}, formats::v_n_m({.rows = 32}), "sm_90a", knobs));
    }
  }
}

TEST(SparseTensorCores, Convolutions) {
  Convolution c;
  c.batch = 8;
  c.channels = 7;
  c.filters = 70;
  c.image = {9, 7};
  c.filter = {3, 3};
  c.pad = {1, 1};
  c.layout = ImageLayout::chwn;
  Convolution strided = c;
  strided.batch = 3;
  strided.stride = {2, 1};
  strided.layout = ImageLayout::nchw;
  for (const Convolution& each : {c, strided}) {
    for (const Format& format : {formats::n_m({.rows = 64}), formats::v_n_m({.rows = 32})}) {
      for (const char* target : {"sm_80", "sm_90a"}) {
        WeightMatrix matrix = whole_numbers(70, 63, format);
        matrix.shape = {70, 7, 3, 3};
        expect_exact(v_n_m(convolution_algorithm(each, DType::f16), packed(matrix, format),
                           target_named(target), {.tile_n = 64}));
      }
    }
  }
}

TEST(SparseTensorCores, AsCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] " << cuda::compiler_status().sentence;
  expect_exact(product({40, 200, 64}, formats::v_n_m({.rows = 32}), "sm_80", {.tile_n = 64}), Emitter::cuda);
  expect_exact(product({300, 200, 72}, formats::v_n_m({.rows = 64}), "sm_90a", {.tile_n = 128, .blocks = 3}),
               Emitter::cuda);
  expect_exact(product({70, 500, 8}, formats::v_n_m({.rows = 64}), "sm_90a",
                       {.tile_n = 16, .groups = 3, .producers = 4}),
               Emitter::cuda);
  // A launch turns the operand, and so converts to bytes and back.
  expect_exact(product({70, 130, 40}, formats::n_m(), "sm_90a", {.tile_n = 64}, DType::e4m3), Emitter::cuda);
}

/// Values with a rounding of their own.
TEST(SparseTensorCores, RoundAsHalvesDo) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Format format = formats::v_n_m({.rows = 64, .columns = 16});
    const SharedWeights weights = packed(fitted(random_matrix(130, 600, 0.9, 3, DType::f16), format), format);
    const Schedule schedule =
        v_n_m(spmm_algorithm(130, 600, Extent(72), DType::f16), weights, target_named(target));
    KernelOptions options;
    options.assemble = cuda::compiler_status().found();  // ptxas has a word in it, too
    Array b = random_array(DType::f16, {600, 72}, 7);
    Array c(DType::f16, {130, 72});
    const Verification found =
        verify(compile(schedule, options), Device::simulator(target), {{{"B", &b}, {"C", &c}}, {}, {}});
    EXPECT_TRUE(found.passed) << found.text();
  }
}

/// B holds what no sum survives, wherever no row of a quad's pair looks: a tensor core reads it and leaves
/// it.
TEST(SparseTensorCores, WhatARowDoesNotKeepIsLeft) {
  Array dense(DType::f16, {64, 128});
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const std::int64_t slot = i % 4;
    const bool first = i / 128 % 2 == 0;
    if (first ? slot == 1 || slot == 2 : slot == 0 || slot == 3) dense.set(i, 1);
  }
  Array b(DType::f16, {128, 64});
  for (std::int64_t i = 0; i < b.size(); ++i) {
    const std::int64_t slot = i / 64 % 4;
    b.set(i, slot == 1 || slot == 2 ? 1 : i % 3 == 0 ? std::nan("") : INFINITY);
  }
  for (const Format& format : {formats::n_m({.rows = 64}), formats::v_n_m({.rows = 64, .columns = 4})}) {
    for (const char* target : {"sm_80", "sm_90a"}) {
      KernelOptions options;
      options.assemble = false;
      const Kernel kernel = compile(v_n_m(spmm_algorithm(64, 128, 64, DType::f16),
                                          packed(from_dense(dense, "pairs"), format), target_named(target)),
                                    options);
      Array c(DType::f16, {64, 64});
      kernel(Device::simulator(target), {{{"B", &b}, {"C", &c}}, {}, {}});
      for (std::int64_t i = 0; i < c.size(); ++i) {
        if (i / 64 % 2 == 0) {
          ASSERT_EQ(c.get(i), 64) << i;
        } else {
          ASSERT_FALSE(std::isfinite(c.get(i))) << i;
        }
      }
    }
  }
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SparseTensorCores, TheRecipeRefusesWhatDoesNotFit) {
  const Format format = formats::v_n_m({.rows = 64});
  const Size size{64, 64, 64};
  EXPECT_THAT(
      refusal([&] { product(size, format, "sm_80", {.instruction = ShflBwInstruction::mma_m16n8k8}); }),
      HasSubstr("mma.sp.m16n8k32"));
  EXPECT_THAT(refusal([&] { product(size, format, "sm_80", {.tile_k = 32}); }), HasSubstr("from 64 to 128"));
  EXPECT_THAT(refusal([&] { product(size, format, "sm_80", {.tile_m = 128}); }), HasSubstr("at most V = 64"));
  EXPECT_FALSE(uses(product(size, format, "sm_75"), "tensorize"));
  EXPECT_THAT(refusal([&] { product(size, format, "sm_90a", {}, DType::f32); }), HasSubstr("weights of f32"));
}

TEST(SparseTensorCores, InstructionsGoWithTheirWeights) {
  const auto reason = [](const Format& format, const std::string& instruction) {
    Schedule whole = product({64, 64, 64}, format, "sm_80", {.tile_n = 64});
    Schedule s(whole.algorithm(), std::make_shared<const SparseTensor>(*whole.weights()), whole.target());
    for (const Step& step : whole.steps()) {
      if (step.name == "tensorize") return s.try_apply({"tensorize", {{{}, instruction}}, {}});
      s.apply(step);
    }
    throw InternalError("no tensorize");
  };
  const auto refused = reason(formats::v_n_m({.rows = 64}), "mma_m16n8k16");
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->precondition, 11);
  EXPECT_THAT(refused->found, HasSubstr("two of four"));
  EXPECT_FALSE(reason(formats::n_m({.rows = 64}), "mma_sp_m16n8k32").has_value());
}

}  // namespace
}  // namespace weft
