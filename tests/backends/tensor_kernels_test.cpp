// Row groups on tensor cores: the same steps with other knobs for sm_75, sm_80 and sm_90a, as PTX in the
// simulator, which sees races and memory that nobody wrote, and by their meaning.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <array>
#include <cmath>
#include <limits>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

using SharedWeights = std::shared_ptr<const SparseTensor>;

struct Knobs {
  std::int64_t columns = 64;   ///< columns of a block
  std::int64_t warp_rows = 0;  ///< rows of a warp, or warpgroup; 0: all
  std::int64_t warp_columns = 32;
  std::int64_t depth = 2;
  std::int64_t line = 64;  ///< columns that leave together
  std::string instruction = "mma_m16n8k16";
  bool roles = false;
  bool persistent = false;
};

Schedule tensor_schedule(const Algorithm& algorithm, const SharedWeights& weights, const Target& target,
                         const Knobs& knobs, std::int64_t group_rows) {
  Schedule s = schedule(algorithm, weights, target);
  const std::int64_t warp_rows = knobs.warp_rows == 0 ? group_rows : knobs.warp_rows;
  s.split(n = knobs.columns);
  s.split(LoopFactor{LoopName("n.inner"), knobs.warp_columns}, LoopFactor{LoopName("m.row"), warp_rows});
  s.reorder(n.outer, LoopName("m.block"), LoopName("k.block"), LoopName("m.row.outer"),
            LoopName("n.inner.outer"), LoopName("m.row.inner"), LoopName("n.inner.inner"),
            LoopName("k.place"));
  s.bind(n.outer, block_y).bind(LoopName("m.block"), block_x);
  if (knobs.depth > 1) {
    s.stage(std::string("A.values"), shared, at = LoopName("k.block"), depth = knobs.depth)
        .stitch(std::string("B"), shared, at = LoopName("k.block"), depth = knobs.depth);
  } else {
    s.stage(std::string("A.values"), shared, at = LoopName("k.block"))
        .stitch(std::string("B"), shared, at = LoopName("k.block"));
  }
  s.bind(LoopName("m.row.outer"), warp).bind(LoopName("n.inner.outer"), warp);
  s.tensorize(knobs.instruction);
  s.reorder_writeback(std::string("C"), weft::columns = knobs.line);
  if (knobs.persistent) s.persist(n.outer, LoopName("m.block"), blocks = 3);
  if (knobs.roles) s.specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232);
  return s;
}

void expect_right(const Schedule& schedule, std::int64_t columns, DType dtype,
                  Emitter emitter = Emitter::llvm) {
  const SparseTensor& weights = *schedule.weights();
  Array b = random_array(dtype, {weights.columns(), columns}, 7, RandomValues::small_integers);
  Array c(dtype, {weights.rows(), columns});
  Array bias = random_array(dtype, {weights.rows()}, 9, RandomValues::small_integers);
  Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  if (schedule.algorithm().text().find("bias") != std::string::npos) arguments.tensors["bias"] = &bias;
  const auto poison = [&] {
    for (std::int64_t i = 0; i < c.size(); ++i) c.set(i, std::nan(""));
  };
  poison();
  KernelOptions by_meaning;
  by_meaning.by_meaning = true;
  const Verification meaning = verify(compile(schedule, by_meaning), Device::cpu(), arguments);
  ASSERT_TRUE(meaning.passed) << meaning.text() << "\n" << schedule.cpp();
  KernelOptions options;
  options.assemble = false;
  options.emitter = emitter;
  const Kernel kernel = compile(schedule, options);
  for (const std::uint64_t seed : {0U, 1U}) {
    const Device device = Device::simulator(schedule.target().name);
    simulator::options(device).launch.seed = seed;
    simulator::options(device).launch.late = seed == 0;
    poison();
    const Verification verification = verify(kernel, device, arguments);
    ASSERT_TRUE(verification.passed) << verification.text() << "\n" << schedule.cpp();
  }
}

struct Case {
  std::string target;
  Knobs knobs;
};

void expect_products_right(const Case& each, std::int64_t group_rows, std::int64_t rows, std::int64_t depth,
                           std::int64_t columns, DType dtype = DType::f16, Emitter emitter = Emitter::llvm) {
  SCOPED_TRACE(each.target + " " + each.knobs.instruction);
  const SharedWeights weights =
      packed(synthetic_layer({.rows = rows, .columns = depth, .sparsity = 0.9, .dtype = dtype}),
             parse_format("shfl_bw:V=" + std::to_string(group_rows)));
  const Algorithm algorithm = spmm_algorithm(rows, depth, Extent(columns), dtype);
  expect_right(tensor_schedule(algorithm, weights, target_named(each.target), each.knobs, group_rows),
               columns, dtype, emitter);
}

TEST(TensorKernels, WarpsMultiplyOnTuring) {
  expect_products_right({"sm_75", {.depth = 1, .instruction = "mma_m16n8k8"}}, 32, 40, 70, 64);
}

TEST(TensorKernels, WarpsMultiplyOnAmpere) {
  expect_products_right({"sm_80", {.depth = 3}}, 32, 40, 200, 64);
  expect_products_right({"sm_80", {.warp_rows = 16, .depth = 2}}, 64, 70, 150, 72);
}

TEST(TensorKernels, LinesOfEveryWidth) {
  for (const std::int64_t line : {8, 16, 256})
    expect_products_right({"sm_80", {.line = line}}, 32, 40, 100, 64);
  for (const std::int64_t columns : {8, 24, 40, 48})
    expect_products_right({"sm_80", {.columns = columns, .warp_columns = columns}}, 32, 40, 100, 72);
}

TEST(TensorKernels, WarpgroupsMultiplyOnHopper) {
  expect_products_right(
      {"sm_90a", {.columns = 64, .warp_columns = 64, .depth = 2, .instruction = "wgmma_m64n64k16"}}, 64, 70,
      150, 72);
  expect_products_right(
      {"sm_90a", {.columns = 128, .warp_rows = 64, .warp_columns = 128, .instruction = "wgmma_m64n128k16"}},
      128, 130, 200, 136);
}

TEST(TensorKernels, WarpsTakeRolesOnHopper) {
  expect_products_right(
      {"sm_90a",
       {.columns = 64, .warp_columns = 64, .depth = 2, .instruction = "wgmma_m64n64k16", .roles = true}},
      64, 70, 400, 72);
  expect_products_right({"sm_90a",
                         {.columns = 128,
                          .warp_rows = 64,
                          .warp_columns = 128,
                          .depth = 3,
                          .instruction = "wgmma_m64n128k16",
                          .roles = true,
                          .persistent = true}},
                        128, 500, 400, 264);
}

/// What multiplies out of registers has to be done with its loads before a buffer is given back.
TEST(TensorKernels, WarpsThatLoadFragmentsTakeRoles) {
  expect_products_right({"sm_90a", {.columns = 128, .depth = 3, .roles = true, .persistent = true}}, 32, 70,
                        400, 136);
}

TEST(TensorKernels, BlocksWithOneTileEach) {
  const Knobs knobs{.columns = 128,
                    .warp_rows = 64,
                    .warp_columns = 128,
                    .depth = 3,
                    .instruction = "wgmma_m64n128k16",
                    .roles = true,
                    .persistent = true};
  expect_products_right({"sm_90a", knobs}, 128, 128, 400, 128);
  expect_products_right({"sm_90a", knobs}, 128, 256, 400, 128);
}

TEST(TensorKernels, OtherHalves) {
  expect_products_right({"sm_80", {.depth = 2}}, 32, 40, 100, 64, DType::bf16);
  expect_products_right(
      {"sm_90a", {.warp_columns = 64, .depth = 2, .instruction = "wgmma_m64n64k16", .roles = true}}, 64, 64,
      100, 64, DType::bf16);
}

TEST(TensorKernels, AsCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] " << cuda::compiler_status().sentence;
  expect_products_right({"sm_75", {.depth = 1, .instruction = "mma_m16n8k8"}}, 32, 40, 70, 64, DType::f16,
                        Emitter::cuda);
  expect_products_right({"sm_80", {.depth = 3}}, 32, 40, 100, 64, DType::f16, Emitter::cuda);
  expect_products_right(
      {"sm_90a",
       {.warp_columns = 64, .depth = 2, .instruction = "wgmma_m64n64k16", .roles = true, .persistent = true}},
      64, 300, 200, 72, DType::f16, Emitter::cuda);
}

/// The recipe itself, at sizes that nothing divides. Every two sizes meet, and every group of rows and
/// target.
TEST(TensorKernels, RecipeAtOddSizes) {
  constexpr std::array<std::int64_t, 4> all_columns{1, 9, 64, 136};
  int number = 0;
  for (const std::int64_t rows : {1, 33, 129, 200}) {
    for (const std::int64_t depth : {7, 65, 200}) {
      for (int half = 0; half < 2; ++half) {
        const std::int64_t columns = all_columns.at((number / 2 + 2 * half) % 4);
        const char* target = number % 3 == 0 ? "sm_90a" : number % 3 == 1 ? "sm_80" : "sm_75";
        const std::int64_t group = std::int64_t{16} << number % 5;
        ++number;
        SCOPED_TRACE(testing::Message()
                     << target << " V=" << group << " " << rows << "x" << depth << "x" << columns);
        const SharedWeights weights =
            packed(synthetic_layer({.rows = rows, .columns = depth, .sparsity = 0.7, .dtype = DType::f16}),
                   formats::shfl_bw({.rows = group}));
        expect_right(shfl_bw(spmm_algorithm(rows, depth, Extent(columns), DType::f16,
                                            {.bias = true, .activation = Activation::relu}),
                             weights, target_named(target)),
                     columns, DType::f16);
      }
    }
  }
}

/// Tiles of few columns, and blocks that share a sum while some of their warps only copy.
TEST(TensorKernels, FewColumns) {
  for (const std::int64_t group : {16, 64, 128}) {
    const SharedWeights weights =
        packed(synthetic_layer({.rows = 150, .columns = 700, .sparsity = 0.7, .dtype = DType::f16}),
               formats::shfl_bw({.rows = group}));
    for (const std::int64_t columns : {8, 20}) {
      for (const std::int64_t groups : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << "V=" << group << " " << columns << " columns, " << groups << " blocks");
        const ShflBwKnobs knobs{
            .tile_n = columns <= 16 ? 16 : 32, .stages = 6, .groups = groups, .producers = 4};
        expect_right(shfl_bw(spmm_algorithm(150, 700, Extent(columns), DType::f16,
                                            {.bias = true, .activation = Activation::relu}),
                             weights, target_named("sm_90a"), knobs),
                     columns, DType::f16);
      }
    }
  }
}

/// Blocks go through several columns of tiles at a time.
TEST(TensorKernels, ColumnsOfTilesSideBySide) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 200, .columns = 150, .sparsity = 0.9, .dtype = DType::f16}),
             parse_format("shfl_bw:V=64"));
  Schedule s = schedule(spmm_algorithm(200, 150, Extent(248), DType::f16), weights, target_named("sm_90a"));
  const LoopName rows("m.block"), own("n.outer.inner"), several("n.outer.outer"), place("k.block"),
      row_warps("m.row.outer"), column_warps("n.inner.outer");
  s.split(n = 64).split(LoopFactor{LoopName("n.inner"), 64}, LoopFactor{LoopName("m.row"), 64});
  s.reorder(n.outer, rows, place, row_warps, column_warps, LoopName("m.row.inner"), LoopName("n.inner.inner"),
            LoopName("k.place"));
  s.split(LoopFactor{n.outer, 2}).reorder(several, rows, own).fuse(rows, own);
  const LoopName together("m.block_n.outer.inner");
  s.bind(several, block_y).bind(together, block_x);
  s.stage(std::string("A.values"), shared, at = place, depth = 2)
      .stitch(std::string("B"), shared, at = place, depth = 2);
  s.bind(row_warps, warp).bind(column_warps, warp).tensorize(std::string("wgmma_m64n64k16"));
  s.reorder_writeback(std::string("C")).persist(several, together, blocks = 3);
  s.specialize_warps(producers = 4);
  expect_right(s, 248, DType::f16);
}

/// Values that do not stay in L2 are read once for four columns of tiles; short lists have short tiles, but
/// small tiles: one that has a processor for itself has all of its copies under way.
TEST(TensorKernels, TheRecipeKnowsSizes) {
  const auto chosen = [](std::int64_t rows, std::int64_t depth, double sparsity, std::int64_t columns = 4096,
                         std::int64_t group = 128) {
    return shfl_bw(
        spmm_algorithm(rows, depth, Extent(columns), DType::f16),
        packed(synthetic_layer({.rows = rows, .columns = depth, .sparsity = sparsity, .dtype = DType::f16}),
               formats::vector_wise({.rows = group})),
        target_named("sm_90a"));
  };
  const Schedule large = chosen(2048, 4224, 0), small = chosen(2048, 192, 0.5);
  EXPECT_NE(large.cpp().find(".split(n.outer = 4)"), std::string::npos) << large.cpp();
  EXPECT_EQ(small.cpp().find("fuse"), std::string::npos) << small.cpp();
  EXPECT_EQ(large.weights()->array("values").shape().back(), 64);
  EXPECT_EQ(small.weights()->array("values").shape().back(), 32);
  const Schedule wide = chosen(2304, 300, 0.5, 4096, 64);
  EXPECT_NE(wide.cpp().find("depth = 5)"), std::string::npos) << wide.cpp();
  EXPECT_EQ(wide.weights()->array("values").shape().back(), 32);
  const Schedule few = chosen(256, 512, 0.75, 72);
  EXPECT_NE(few.cpp().find(R"(.stage("A.values", shared, at = "k.block", depth = 8))"), std::string::npos)
      << few.cpp();
  EXPECT_EQ(few.cpp().find("persist"), std::string::npos) << few.cpp();
  EXPECT_EQ(few.weights()->array("values").shape().back(), 64);
  expect_right(few, 72, DType::f16);
}

/// Results of warps with roles leave L2 before what is read again; where all warps copy, a sum's parts are
/// stored too.
TEST(TensorKernels, ResultsStream) {
  const auto stores = [](const char* target, const char* store) {
    KernelOptions options;
    options.assemble = false;
    const SharedWeights weights =
        packed(synthetic_layer({.rows = 128, .columns = 64, .sparsity = 0.5, .dtype = DType::f16}),
               parse_format("shfl_bw:V=64"));
    const Kernel kernel = compile(
        shfl_bw(spmm_algorithm(128, 64, Extent(64), DType::f16), weights, target_named(target)), options);
    return kernel.ptx().find(store) != std::string::npos;
  };
  EXPECT_TRUE(stores("sm_90a", "st.global.cs.v4.b32"));
  EXPECT_FALSE(stores("sm_90a", "st.global.v4.b32"));
  EXPECT_TRUE(stores("sm_80", "st.global.v4.b32"));
}

/// Lists of unequal length, some empty.
TEST(TensorKernels, UnequalLists) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 200, .columns = 300, .sparsity = 0.6, .dtype = DType::f16});
  const SharedWeights weights = packed(
      where(matrix, [](std::int64_t row,
                       std::int64_t column) { return column < (row / 64 == 1 ? 0 : (row / 64 + 1) * 20); }),
      formats::vector_wise({.rows = 64}));
  for (const char* target : {"sm_90a", "sm_80"})
    expect_right(shfl_bw(spmm_algorithm(200, 300, Extent(72), DType::f16), weights, target_named(target)), 72,
                 DType::f16);
}

}  // namespace
}  // namespace weft
