// Blocks in ELL on tensor cores: odd sizes, blocks of every width, empty block rows, f16 and bf16, epilogues,
// in the simulator of every generation and on the CPU, against f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <array>
#include <map>

namespace weft {
namespace {

using ::testing::HasSubstr;

/// Blocks of every width: each has a density of its own, a quarter of them is empty, and so is a block row.
WeightMatrix weights_of(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t seed) {
  Random random(seed);
  Array dense(dtype, {rows, columns});
  for (std::int64_t first = 0; first < rows; first += 16) {
    for (std::int64_t left = 0; left < columns; left += 16) {
      const double density = first == 16 || random.below(4) == 0 ? 0 : random.uniform();
      for (std::int64_t row = first; row < std::min(first + 16, rows); ++row) {
        for (std::int64_t column = left; column < std::min(left + 16, columns); ++column) {
          if (random.uniform() < density)
            dense.set(row * columns + column, static_cast<double>(random.below(7) - 3));
        }
      }
    }
  }
  return from_dense(dense, "blocks");
}

struct Case {
  std::int64_t rows = 0, inner = 0, columns = 0;
  DType dtype = DType::f16;
  Epilogue epilogue = {};
  bool at_launch = false;
};

std::vector<Case> cases() {
  Epilogue linear;
  linear.bias = true;
  linear.activation = Activation::relu;
  Epilogue all = linear;
  all.alpha = all.beta = true;
  return {{16, 16, 64},
          {1, 1, 1},
          {17, 33, 65, DType::f16, all},
          {64, 128, 128, DType::f16, linear},
          {70, 100, 200, DType::bf16, linear},
          {33, 47, 8, DType::f16, {}, true},
          {100, 260, 136, DType::f16, all, true},
          {48, 200, 300, DType::bf16, all}};
}

void expect_right(const Schedule& schedule, const Case& problem, const Device& device,
                  const KernelOptions& options) {
  SCOPED_TRACE(schedule.cpp() + ir::print(schedule.program()));
  std::map<std::string, Array> operands;
  operands.emplace(
      "B", random_array(problem.dtype, {problem.inner, problem.columns}, 3, RandomValues::small_integers));
  operands.emplace(
      "C", random_array(problem.dtype, {problem.rows, problem.columns}, 4, RandomValues::small_integers));
  if (problem.epilogue.bias)
    operands.emplace("bias", random_array(problem.dtype, {problem.rows}, 5, RandomValues::small_integers));
  Arguments arguments;
  for (auto& [name, array] : operands) arguments.tensors[name] = &array;
  if (problem.epilogue.alpha) arguments.scalars["alpha"] = 0.5;
  if (problem.epilogue.beta) arguments.scalars["beta"] = 2;
  const Kernel kernel = compile(schedule, options);
  try {
    const Verification verification = verify(kernel, device, arguments);
    EXPECT_TRUE(verification.passed) << verification.text();
  } catch (const RuntimeError& error) {
    ADD_FAILURE() << error.what() << "\n" << kernel.ptx();
  }
}

Schedule scheduled(const Case& problem, const Format& format, const std::string& target,
                   const HbEllKnobs& knobs = {}) {
  const Extent columns = problem.at_launch ? Extent::any("N") : Extent(problem.columns);
  const auto weights = std::make_shared<const SparseTensor>(
      pack(weights_of(problem.rows, problem.inner, problem.dtype,
                      static_cast<std::uint64_t>(problem.rows + problem.inner)),
           format));
  return hb_ell(spmm_algorithm(problem.rows, problem.inner, columns, problem.dtype, problem.epilogue),
                weights, target_named(target), knobs);
}

bool has_step(const Schedule& schedule, std::string_view name) {
  return std::ranges::find(schedule.steps(), name, &Step::name) != schedule.steps().end();
}

TEST(HbEllKernels, RunInTheSimulator) {
  constexpr std::array<std::int64_t, 4> every{0, 8, 1, 4};
  int number = 0;
  for (const Case& problem : cases()) {
    for (const char* target : {"sm_75", "sm_80", "sm_90a"}) {
      Format format = formats::hb_ell({.offset = number % 2 == 0 ? 8 : 4, .step = number % 3 == 0 ? 4 : 1});
      format.parameters["every"] = every[static_cast<std::size_t>(number % 4)];
      ++number;
      SCOPED_TRACE(std::string(target) + " " + format.text());
      const Schedule schedule = scheduled(problem, format, target);
      const bool tensor_cores = problem.dtype == DType::f16 || std::string(target) != "sm_75";
      EXPECT_EQ(has_step(schedule, "tensorize"), tensor_cores);
      KernelOptions options;
      options.assemble = false;
      expect_right(schedule, problem, Device::simulator(target), options);
    }
  }
}

TEST(HbEllKernels, RunFromCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] no NVRTC and no nvcc here";
  KernelOptions options;
  options.emitter = Emitter::cuda;
  options.assemble = false;
  for (const char* target : {"sm_75", "sm_90a"})
    expect_right(scheduled(cases()[2], formats::hb_ell(), target), cases()[2], Device::simulator(target),
                 options);
}

TEST(HbEllKernels, MeanTheSameOnTheCpu) {
  const Case problem = cases()[2];
  const auto weights = std::make_shared<const SparseTensor>(
      pack(weights_of(17, 33, DType::f16, 50), formats::hb_ell({.offset = 4})));
  Schedule decoded(spmm_algorithm(17, 33, 65, DType::f16, problem.epilogue), weights, target_named("cpu"));
  decoded.split(LoopFactor{LoopName("n"), std::int64_t{64}})
      .reorder(LoopName("n.outer"), LoopName("m.block"), LoopName("k.block"), LoopName("m.row"),
               LoopName("n.inner"), LoopName("k.place"))
      .decode("A", shared, at = LoopName("k.block"), depth = 3)
      .stitch("B", shared, at = LoopName("k.block"), depth = 3);
  expect_right(decoded, problem, Device::cpu(), {});
}

/// Seven blocks of 16 columns, stored as eight: what the last one stands for is not there.
TEST(HbEllKernels, StoredBlocksBeyondTheColumnsReadNothing) {
  const Case problem{.rows = 17, .inner = 112, .columns = 8};
  const auto weights = std::make_shared<const SparseTensor>(
      pack(weights_of(17, 112, DType::f16, 51), parse_format("hb_ell:every=8")));
  Schedule decoded(spmm_algorithm(17, 112, 8, DType::f16, {}), weights, target_named("sm_86"));
  decoded
      .reorder(LoopName("m.block"), LoopName("k.block"), LoopName("m.row"), LoopName("n"),
               LoopName("k.place"))
      .decode("A", shared, at = LoopName("k.block"));
  expect_right(decoded, problem, Device::simulator("sm_86"), {.assemble = false});
}

TEST(HbEllKernels, FollowTheirKnobs) {
  const Case problem{100, 260, 136};
  KernelOptions options;
  options.assemble = false;
  for (const HbEllKnobs& knobs : {HbEllKnobs{.tile_n = 128, .warp_n = 32},
                                  {.tile_n = 64, .warp_n = 64, .stages = 1},
                                  {.tile_n = 96, .warp_n = 48},
                                  {.tile_n = 256, .stages = 2, .groups = 3}})
    expect_right(scheduled(problem, formats::hb_ell(), "sm_80", knobs), problem, Device::simulator("sm_80"),
                 options);
}

TEST(HbEllKernels, ShareTheRowsOfB) {
  KernelOptions options;
  options.assemble = false;
  const Case problem{200, 260, 300};
  for (const HbEllKnobs& knobs : {HbEllKnobs{.tile_m = 128, .tile_n = 256},
                                  {.tile_m = 64, .tile_n = 64, .tile_k = 128, .stages = 2},
                                  {.tile_m = 32, .tile_n = 128, .tile_k = 32, .warp_n = 32, .groups = 2}}) {
    const Schedule schedule = scheduled(problem, parse_format("hb_ell:every=8"), "sm_80", knobs);
    EXPECT_TRUE(has_step(schedule, "tensorize"));
    expect_right(schedule, problem, Device::simulator("sm_80"), options);
  }
  EXPECT_THROW(scheduled(problem, formats::hb_ell(), "sm_80", {.tile_m = 32}), UserError);
}

/// Tiles of a warpgroup, of warps of 32 rows, and of few rows, as sm_90a takes them by itself and as it is
/// told.
TEST(HbEllKernels, WarpsAndWarpgroupsHaveSeveralBlockRows) {
  KernelOptions options;
  options.assemble = false;
  const Format every = parse_format("hb_ell:every=4");
  struct Told {
    Case problem;
    HbEllKnobs knobs;
    const char* instruction;
  };
  for (const Told& told :
       {Told{{130, 200, 264},
             {.tile_m = 64, .tile_n = 128, .tile_k = 64, .warp_m = 64, .warp_n = 64, .stages = 2},
             "wgmma_m64n64k16"},
        {{130, 450, 72, DType::bf16},
         {.tile_m = 64, .tile_k = 64, .warp_m = 64, .groups = 2},
         "wgmma_m64n64k16"},
        {{100, 200, 136},
         {.tile_m = 64, .tile_n = 128, .tile_k = 64, .warp_m = 32, .warp_n = 32},
         "mma_m16n8k16"},
        {{40, 1500, 136}, {}, "mma_m16n8k16"}}) {
    const Schedule schedule = scheduled(told.problem, every, "sm_90a", told.knobs);
    EXPECT_THAT(schedule.cpp(), HasSubstr(told.instruction));
    expect_right(schedule, told.problem, Device::simulator("sm_90a"), options);
  }
  for (const Case& large : {Case{2048, 64, 4096}, {512, 512, 4096}}) {
    const Schedule schedule = scheduled(large, every, "sm_90a");
    EXPECT_THAT(schedule.cpp(), HasSubstr("wgmma_m64n256k16"));
    EXPECT_FALSE(has_step(schedule, "split_k"));
  }
  EXPECT_TRUE(has_step(scheduled({40, 1500, 136}, every, "sm_90a"), "split_k"));
}

/// Of the blocks that fill up a row, whole iterations read no row of B that there is.
TEST(HbEllKernels, CopyNothingWhereThereIsNothing) {
  KernelOptions options;
  options.assemble = false;
  const Case problem{16, 17, 256};
  const Schedule schedule =
      scheduled(problem, parse_format("hb_ell:every=4"), "sm_90a", {.tile_n = 64, .stages = 2});
  expect_right(schedule, problem, Device::simulator("sm_90a"), options);
}

TEST(HbEllKernels, TakeTilesThatHaveRoom) {
  KernelOptions options;
  options.assemble = false;
  for (const char* target : {"sm_75", "sm_86", "sm_90a"}) {
    const Schedule schedule = scheduled({2048, 32, 4096}, parse_format("hb_ell:every=8"), target);
    EXPECT_EQ(compile(schedule, options).lowered().launch.threads,
              std::string(target) == "sm_90a" ? 128 : 256)
        << target << schedule.cpp();
  }
}

/// Rows below 7 alone write: a barrier in each branch of that would wait for the other.
TEST(HbEllKernels, WarpsMeetOutsideOfConditions) {
  KernelOptions options;
  options.assemble = false;
  const std::string ptx =
      compile(scheduled({7, 63, 64}, parse_format("hb_ell:every=4,offset=4"), "sm_90a"), options).ptx();
  const std::string barrier = "bar.warp.sync";
  const auto first = ptx.find(barrier);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(ptx.find(barrier, first + 1), std::string::npos) << ptx;
}

/// Blocks of every density: those that fit two of four, and those that take more fours.
TEST(HbEllKernels, SparseTensorCoresTakeBlocksInPairs) {
  KernelOptions options;
  options.assemble = false;
  int number = 0;
  for (const Case& problem : cases()) {
    for (const char* target : {"sm_75", "sm_80", "sm_90a"}) {
      const Format format = parse_format(++number % 2 == 0 ? "hb_ell:pairs=1" : "hb_ell:k=128,pairs=1");
      SCOPED_TRACE(std::string(target) + " " + format.text());
      const Schedule schedule = scheduled(problem, format, target);
      EXPECT_EQ(schedule.cpp().find("mma_sp_m16n8k32") != std::string::npos, target_named(target).sm >= 80);
      expect_right(schedule, problem, Device::simulator(target), options);
    }
  }
  const Case large{100, 700, 136};
  const Format pairs = parse_format("hb_ell:pairs=1");
  for (const HbEllKnobs& knobs :
       {HbEllKnobs{.tile_n = 64, .tile_k = 128, .stages = 2}, {.warp_n = 16, .groups = 3}})
    expect_right(scheduled(large, pairs, "sm_80", knobs), large, Device::simulator("sm_80"), options);
  EXPECT_THROW(scheduled(large, pairs, "sm_80", {.tile_m = 32}), UserError);
  EXPECT_THROW(scheduled(large, pairs, "sm_80", {.tile_m = 8}), UserError);
}

TEST(HbEllKernels, SparseTensorCoresTakeConvolutionsInPairs) {
  Convolution c;
  c.batch = 8;
  c.channels = 7;
  c.filters = 40;
  c.image = {9, 7};
  c.filter = {3, 3};
  c.pad = {1, 1};
  c.layout = ImageLayout::chwn;
  WeightMatrix matrix = weights_of(40, 63, DType::f16, 3);
  matrix.shape = {40, 7, 3, 3};
  const Algorithm algorithm = convolution_algorithm(c, DType::f16);
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Schedule schedule =
        hb_ell(algorithm, std::make_shared<const SparseTensor>(pack(matrix, parse_format("hb_ell:pairs=1"))),
               target_named(target));
    EXPECT_THAT(schedule.cpp(), HasSubstr("mma_sp_m16n8k32"));
    std::map<std::string, Array> operands;
    Arguments arguments;
    for (const Operand& operand : algorithm.operands) {
      if (operand.storage == Storage::sparse) continue;
      std::vector<std::int64_t> shape;
      for (const Extent& extent : operand.shape) shape.push_back(extent.value);
      operands.emplace(operand.name, random_array(DType::f16, shape, 7, RandomValues::small_integers));
    }
    for (auto& [name, array] : operands) arguments.tensors[name] = &array;
    KernelOptions options;
    options.assemble = false;
    const Verification found = verify(compile(schedule, options), Device::simulator(target), arguments);
    EXPECT_TRUE(found.passed) << found.text();
  }
}

TEST(HbEllKernels, LeaveACpuToTheDefaultScheduleAndRefuseOtherWeights) {
  EXPECT_FALSE(has_step(scheduled({17, 33, 65}, formats::hb_ell(), "cpu"), "tensorize"));
  EXPECT_THROW(scheduled({17, 33, 65}, formats::hb_ell({.size = 8}), "sm_80"), UserError);
  EXPECT_THROW(scheduled({17, 33, 65}, formats::bcsr(16), "sm_80"), UserError);
  EXPECT_THROW(scheduled({17, 33, 65, DType::f32}, formats::hb_ell(), "sm_80"), UserError);
}

/// Four rows of 32 bytes are fewer than a swizzle exchanges chunks of.
TEST(Decode, TakesSmallBlocksOfWideValues) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    SCOPED_TRACE(name_of(dtype));
    const auto weights = std::make_shared<const SparseTensor>(
        pack(weights_of(36, 39, dtype, 1), parse_format("hb_ell:b=4,offset=4")));
    Schedule schedule(spmm_algorithm(36, 39, 5, dtype), weights, target_named("sm_86"));
    schedule.decode("A", shared, at = LoopName("k.block"));
    Array b = random_array(dtype, {39, 5}, 3), c(dtype, {36, 5});
    const Verification found =
        verify(compile(schedule), Device::simulator("sm_86"), Arguments{{{"B", &b}, {"C", &c}}, {}});
    EXPECT_TRUE(found.passed) << found.text();
  }
}

TEST(Decode, SaysWhyNot) {
  const auto weights =
      std::make_shared<const SparseTensor>(pack(weights_of(40, 40, DType::f16, 1), formats::hb_ell()));
  const auto plain = [&](const std::shared_ptr<const SparseTensor>& of) {
    return Schedule(spmm_algorithm(40, 40, 64, DType::f16), of, target_named("sm_80"));
  };
  const auto refused = [](Schedule schedule, const std::string& tensor, const std::string& loop, Word scope) {
    try {
      schedule.decode(tensor, scope, at = LoopName(loop));
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(refused(plain(weights), "A", "k.bloc", shared), HasSubstr("k.block"));
  EXPECT_THAT(refused(plain(weights), "A", "k.block", registers), HasSubstr("a scope called registers"));
  EXPECT_THAT(refused(plain(weights), "B", "k.block", shared), HasSubstr("weights in hb_ell"));
  const auto bcsr =
      std::make_shared<const SparseTensor>(pack(weights_of(40, 40, DType::f16, 1), formats::bcsr()));
  EXPECT_THAT(refused(plain(bcsr), "A", "k.block", shared), HasSubstr("weights in hb_ell"));
  EXPECT_THAT(refused(plain(weights), "A", "m.block", shared),
              HasSubstr("as many blocks as k.block has iterations"));
  Schedule twice = plain(weights);
  twice.decode("A", shared, at = LoopName("k.block"));
  EXPECT_THAT(refused(twice, "A", "k.block", shared), HasSubstr("reads no block"));
  Schedule bound = plain(weights);
  bound.bind(LoopName("m.block"), warp);
  EXPECT_THAT(refused(bound, "A", "k.block", shared), HasSubstr("m.block"));
}

}  // namespace
}  // namespace weft
