// Weights that are 2:4 in some tiles and dense in others, in one kernel: as PTX in the simulator, which sees
// races and memory that nobody wrote, and by its meaning. Integers, so that every result is exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/generated_matrices.h"
#include "search/space_problems.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using test::expect_exact;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct MixedSize {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool mostly_dense = false;  ///< so that iterations take two blocks
};

/// As mixed_of_tiles, but most tiles are dense, and no group is empty.
WeightMatrix mostly_dense_of_tiles(const MixedSize& size, std::int64_t of_group, DType dtype) {
  constexpr std::int64_t width = 64;
  WeightMatrix result =
      where(random_matrix(size.rows, size.depth, 1, 7, dtype), [&](std::int64_t row, std::int64_t column) {
        const std::int64_t kind = (row / of_group + column / width) % 8;
        if (kind == 7) return false;
        if (kind == 2) return column % width >= width / 2;
        return kind != 0 || (row + column) % 4 < 2;
      });
  result.values = random_array(dtype, {result.stored()}, 5, RandomValues::small_integers);
  for (std::int64_t i = 0; i < result.stored(); ++i)
    if (result.values.get(i) == 0) result.values.set(i, 1);
  return result;
}

Format mixed_format(std::int64_t rows, std::int64_t places = 64) {
  return formats::mixed({.rows = rows, .places = places});
}

Schedule mixed_product(const MixedSize& size, const Format& format, const std::string& target,
                       const ShflBwKnobs& knobs = {}, DType dtype = DType::f16,
                       const Epilogue& epilogue = {}) {
  const std::int64_t of_group = format.parameters.at("V");
  const WeightMatrix weights = size.mostly_dense ? mostly_dense_of_tiles(size, of_group, dtype)
                                                 : mixed_of_tiles(size.rows, size.depth, of_group, dtype);
  return v_n_m(spmm_algorithm(size.rows, size.depth, Extent(size.columns), dtype, epilogue),
               packed(weights, format), target_named(target), knobs);
}

std::string ptx_of(const Schedule& schedule) {
  return compile(schedule).ptx();
}

TEST(MixedTilesOnTensorCores, WarpsMultiplyOnAmpere) {
  expect_exact(mixed_product({150, 331, 72}, mixed_format(32), "sm_80", {.tile_n = 64}));
  expect_exact(mixed_product({150, 330, 64}, mixed_format(64, 128), "sm_80", {.tile_n = 64, .stages = 2}));
  expect_exact(mixed_product({40, 300, 40}, mixed_format(16), "sm_80", {.tile_n = 64, .stages = 1}));
  const std::string ptx = ptx_of(mixed_product({150, 330, 64}, mixed_format(32), "sm_80", {.tile_n = 64}));
  EXPECT_THAT(ptx, HasSubstr("mma.sp"));
  EXPECT_THAT(ptx, HasSubstr("mma.sync.aligned.m16n8k16"));
}

TEST(MixedTilesOnTensorCores, WarpgroupsMultiplyOnHopper) {
  expect_exact(mixed_product({150, 331, 72}, mixed_format(64), "sm_90a", {.tile_n = 128, .producers = 0}));
  expect_exact(
      mixed_product({300, 331, 136}, mixed_format(128, 128), "sm_90a", {.tile_n = 128, .producers = 0}));
  const std::string ptx = ptx_of(mixed_product({150, 330, 64}, mixed_format(64), "sm_90a", {.tile_n = 64}));
  EXPECT_THAT(ptx, HasSubstr("wgmma.mma_async.sp.sync.aligned.m64n32k32"));
  EXPECT_THAT(ptx, HasSubstr("wgmma.mma_async.sync.aligned.m64n32k16"));
}

/// Of blocks that keep all of their columns, in an iteration of warps with roles.
bool takes_two(const Schedule& schedule) {
  return schedule.cpp().find(", blocks = 2)\n.stream_results(") != std::string::npos;
}

class MixedTilesInRoles : public testing::TestWithParam<bool> {};

TEST_P(MixedTilesInRoles, AreRight) {
  const bool two = GetParam();
  for (const std::int64_t depth : {64, 200, 331}) {
    for (const std::int64_t stages : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << depth << " columns in " << stages << " stages");
      const Schedule s = mixed_product({330, depth, 72, two}, mixed_format(64), "sm_90a",
                                       {.tile_n = 64, .stages = stages, .blocks = 2});
      EXPECT_EQ(takes_two(s), two) << s.cpp();
      expect_exact(s);
    }
  }
  expect_exact(mixed_product({700, 331, 264, two}, mixed_format(128), "sm_90a", {.blocks = 3}));
  expect_exact(
      mixed_product({300, 500, 136, two}, mixed_format(128, 128), "sm_90a", {.tile_n = 128, .blocks = 2}));
  expect_exact(mixed_product({300, 200, 136, two}, mixed_format(256), "sm_90a", {.blocks = 2}));
  expect_exact(mixed_product({100, 331, 136, two}, mixed_format(32), "sm_90a", {.tile_n = 64}));
  // A tile each, and sums that blocks share.
  expect_exact(mixed_product({330, 331, 136, two}, mixed_format(64), "sm_90a", {.tile_n = 64, .blocks = 0}));
  expect_exact(mixed_product({100, 700, 40, two}, mixed_format(64), "sm_90a",
                             {.tile_n = 64, .groups = 3, .producers = 0}));
}

/// The columns that instructions take in front of each commit, of those that multiply dense or 2:4 tiles.
std::vector<std::int64_t> columns_of_groups(const std::string& ptx) {
  std::vector<std::int64_t> groups{0};
  for (std::size_t at = 0; (at = ptx.find("wgmma.", at)) != std::string::npos; ++at) {
    const std::string_view instruction = std::string_view(ptx).substr(at, 80);
    if (instruction.starts_with("wgmma.commit_group")) groups.push_back(0);
    if (instruction.starts_with("wgmma.mma_async.sp")) groups.back() += 32;
    if (instruction.starts_with("wgmma.mma_async.sync")) groups.back() += 16;
  }
  groups.pop_back();
  return groups;
}

/// Stages of two have 64 columns of either kind, and room for these of dense tiles; a half that is left over
/// has 32. One by one, two iterations are written out.
TEST_P(MixedTilesInRoles, StagesHaveTheColumnsOfTheirInstructions) {
  const MixedSize size{330, 331, 520, GetParam()};
  for (const Emitter emitter : {Emitter::llvm, Emitter::cuda}) {
    KernelOptions options;
    options.emitter = emitter;
    const Kernel kernel =
        compile(mixed_product(size, mixed_format(128), "sm_90a", {.tile_n = 256, .stages = 4}), options);
    if (GetParam())
      EXPECT_THAT(columns_of_groups(kernel.ptx()), ElementsAre(64, 32, 64, 64, 64));
    else
      EXPECT_THAT(columns_of_groups(kernel.ptx()), ElementsAre(32, 32, 32, 64, 64, 64));
    const std::int64_t values = 128 * (GetParam() ? 64 : 32) * 2, codes = 128 * 8, dense = 64 * 256 * 2;
    EXPECT_GE(kernel.lowered().launch.shared_bytes, 4 * (values + codes + dense));
    if (!GetParam()) {
      EXPECT_LT(kernel.lowered().launch.shared_bytes, 4 * (2 * values + codes + dense));
    }
    if (kernel.resources()) {
      EXPECT_EQ(kernel.resources()->spill_bytes, 0);
    }
  }
}

/// Sums are dealt to blocks, whose shares begin and end inside tiles; clusters share values; launches
/// overlap.
TEST_P(MixedTilesInRoles, SharesClustersAndLaunches) {
  const bool two = GetParam();
  for (const std::int64_t blocks : {2, 3, 5})
    expect_exact(mixed_product({330, 331, 136, two}, mixed_format(64), "sm_90a",
                               {.tile_n = 64, .groups = 0, .blocks = blocks}));
  for (const std::int64_t blocks : {0, 4})
    expect_exact(mixed_product({300, 331, 264, two}, mixed_format(128), "sm_90a",
                               {.tile_n = 128, .stages = 3, .blocks = blocks, .cluster = 2}));
  for (const std::int64_t blocks : {0, 2})
    expect_exact(overlapped(
        mixed_product({330, 331, 72, two}, mixed_format(64), "sm_90a", {.tile_n = 64, .blocks = blocks})));
}

INSTANTIATE_TEST_SUITE_P(Blocks, MixedTilesInRoles, testing::Bool(),
                         [](const auto& given) { return given.param ? "two" : "one"; });

/// Half of the tiles are dense at 25 % zeros, and a tenth at 45 %. Five stages fit where each has room for
/// one block, as the space knows.
TEST(MixedTilesOnTensorCores, WeightsSayHowManyBlocksAnIterationTakes) {
  const auto of_zeros = [](double sparsity) {
    const SpaceProblem problem = mixed_problem(1280, 1280, 256, DType::f16, sparsity);
    const Target target = target_named("sm_90a");
    const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
    const Schedule s = v_n_m(problem.algorithm, weights, target);
    const KnobValues point{{"tile_m", 128},
                           {"tile_n", 256},
                           {"tile_k", 64},
                           {"stages", 5},
                           {"instruction", wgmma_number},
                           {"warp_m", 64},
                           {"warp_n", 256},
                           {"producers", 4},
                           {"producer_registers", 88},
                           {"consumer_registers", 208},
                           {"groups", 1},
                           {"line", 32},
                           {"blocks", 132}};
    const Space space = space_of("v_n_m", problem, target);
    const bool fits =
        std::ranges::all_of(space.constraints(), [&](const Constraint& each) { return holds(each, point); });
    return std::pair(takes_two(s), fits);
  };
  EXPECT_EQ(of_zeros(0.25), std::pair(true, false));
  EXPECT_EQ(of_zeros(0.45), std::pair(false, true));
}

TEST(MixedTilesOnTensorCores, OddColumnsTypesAndEpilogues) {
  for (const std::string target : {"sm_80", "sm_90a"}) {
    for (const std::int64_t columns : {1, 7, 33})
      expect_exact(mixed_product({100, 331, columns}, mixed_format(64), target));
    // Whose sums bf16 holds.
    expect_exact(mixed_product({100, 70, 72}, mixed_format(32), target, {}, DType::bf16));
    expect_exact(mixed_product({100, 331, 72}, mixed_format(64), target, {}, DType::f16,
                               {.bias = true, .activation = Activation::relu}));
  }
}

TEST(MixedTilesOnTensorCores, Convolutions) {
  Convolution images;
  images.channels = 20;
  images.filters = 70;
  images.batch = 8;
  images.image = {5, 7};
  images.filter = {3, 3};
  images.pad = {1, 1};
  images.layout = ImageLayout::chwn;
  const Format format = mixed_format(32);
  for (WeightMatrix weights :
       {mixed_of_tiles(70, 180, 32), mostly_dense_of_tiles({70, 180}, 32, DType::f16)}) {
    weights.shape = {70, 20, 3, 3};
    for (const char* target : {"sm_80", "sm_90a"})
      expect_exact(v_n_m(convolution_algorithm(images, DType::f16), packed(weights, format),
                         target_named(target), {.tile_n = 64}));
  }
}

/// X [n, k] as it lies where its rows are whole runs, and turned first where they are not.
TEST(MixedTilesOnTensorCores, LinearLayers) {
  for (const std::int64_t depth : {328, 331, 40}) {
    for (const std::int64_t of_group : {64, 128}) {
      const auto weights = packed(mixed_of_tiles(330, depth, of_group), mixed_format(of_group));
      const Algorithm linear =
          spmm_algorithm(330, depth, Extent(136), DType::f16, {.bias = true}, ProductLayout::nk);
      expect_exact(v_n_m(linear, weights, target_named("sm_80")));
      const Schedule s = v_n_m(linear, weights, target_named("sm_90a"), {.tile_n = 128, .blocks = 3});
      EXPECT_EQ(s.cpp().find("transpose(\"B\")") == std::string::npos, depth % 8 == 0) << s.cpp();
      expect_exact(s);
    }
    const auto dense = packed(mostly_dense_of_tiles({330, depth}, 64, DType::f16), mixed_format(64));
    const Schedule two = v_n_m(spmm_algorithm(330, depth, Extent(136), DType::f16, {}, ProductLayout::nk),
                               dense, target_named("sm_90a"), {.tile_n = 128, .blocks = 3});
    EXPECT_TRUE(takes_two(two)) << two.cpp();
    expect_exact(two);
  }
}

TEST(MixedTilesOnTensorCores, WeightsOfOneKindOrNone) {
  const auto schedule_of = [](double density, const std::string& target) {
    WeightMatrix weights = random_matrix(130, 200, density, 3, DType::f16);
    weights.values = random_array(DType::f16, {weights.stored()}, 5, RandomValues::small_integers);
    return v_n_m(spmm_algorithm(130, 200, 72, DType::f16, {.bias = true}), packed(weights, mixed_format(64)),
                 target_named(target));
  };
  for (const std::string target : {"sm_80", "sm_90a"}) {
    expect_exact(schedule_of(1, target));
    expect_exact(schedule_of(0, target));
  }
}

}  // namespace
}  // namespace weft
