// Clusters of blocks that copy for one another, as PTX in the simulator, which sees races with copies and
// arrivals at blocks that have left, and as CUDA source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <regex>
#include <source_location>

#include "formats/generated_matrices.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using test::expect_exact;
using testing::HasSubstr;

struct Size {
  std::int64_t rows = 0, depth = 0, columns = 0;
};

/// Integers, in lists of unequal length, some empty.
std::shared_ptr<const SparseTensor> weights_of(const Size& size, const std::string& format,
                                               DType dtype = DType::f16) {
  const Format parsed = parse_format(format);
  const bool in_lists = !format.starts_with("n_m") && !format.starts_with("v_n_m");
  const std::int64_t group = in_lists ? parsed.parameters.at("V") : 1;
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t row = 0; row < size.rows; ++row) {
    for (std::int64_t column = 0; column < size.depth; ++column) {
      const std::int64_t which = row / group;
      const bool kept =
          in_lists ? which % 4 != 1 && (column * 7 + which) % (which + 2) == 0 : (column + row) % 4 < 2;
      if (!kept) continue;
      rows.push_back(row);
      columns.push_back(column);
    }
  }
  const Array values =
      random_array(dtype, {static_cast<std::int64_t>(rows.size())}, 5, RandomValues::small_integers);
  const WeightMatrix matrix =
      fitted(from_coordinates(size.rows, size.depth, rows, columns, values, "lists of many lengths"), parsed);
  return std::make_shared<const SparseTensor>(pack(matrix, parsed));
}

Schedule clustered(const Size& size, const std::string& format, ShflBwKnobs knobs, DType dtype = DType::f16,
                   const Epilogue& epilogue = {}) {
  if (!knobs.cluster) knobs.cluster = 2;
  const bool in_pairs = format.starts_with("n_m") || format.starts_with("v_n_m");
  const Algorithm product = spmm_algorithm(size.rows, size.depth, Extent(size.columns), dtype, epilogue);
  const auto weights = weights_of(size, format, dtype);
  const Target& target = target_named("sm_90a");
  Schedule s = in_pairs ? v_n_m(product, weights, target, knobs) : shfl_bw(product, weights, target, knobs);
  EXPECT_TRUE(s.program().cluster.has_value()) << s.cpp();
  return s;
}

TEST(MulticastKernels, BlocksWithATileEach) {
  expect_exact(clustered({70, 200, 128}, "vector_wise:V=64", {.tile_n = 64, .warp_n = 64, .blocks = 0}));
  expect_exact(clustered({200, 300, 256}, "vector_wise:V=128", {.tile_n = 128, .stages = 2, .blocks = 0}));
}

TEST(MulticastKernels, BlocksThatGoThroughTiles) {
  expect_exact(clustered({330, 300, 256}, "vector_wise:V=64", {.tile_n = 64, .warp_n = 64, .blocks = 4}));
  expect_exact(clustered({500, 260, 520}, "vector_wise:V=128", {.tile_n = 128, .stages = 3, .blocks = 6}));
}

/// The last tile of a cluster is narrow, or there is none.
TEST(MulticastKernels, ColumnsThatClustersDoNotDivide) {
  for (const std::int64_t columns : {8, 64, 72, 200})
    expect_exact(clustered({130, 150, columns}, "shfl_bw:V=64", {.tile_n = 64, .warp_n = 64, .blocks = 2}));
}

TEST(MulticastKernels, ClustersOfFourAndEight) {
  expect_exact(
      clustered({200, 150, 264}, "shfl_bw:V=64", {.tile_n = 64, .warp_n = 64, .blocks = 4, .cluster = 4}));
  expect_exact(clustered({200, 150, 520}, "shfl_bw:V=64",
                         {.tile_n = 64, .tile_k = 64, .warp_n = 64, .blocks = 8, .cluster = 8}));
}

TEST(MulticastKernels, ShortTilesOtherHalvesAndEpilogues) {
  expect_exact(clustered({130, 200, 136}, "shfl_bw:V=128", {.tile_n = 64, .tile_k = 32, .blocks = 2}));
  expect_exact(clustered({130, 200, 136}, "shfl_bw:V=64", {.tile_n = 64, .warp_n = 64}, DType::bf16,
                         {.bias = true, .activation = Activation::relu}));
}

/// Warps of mma.sync: their groups have 16 rows and more.
TEST(MulticastKernels, WarpsThatMultiply) {
  expect_exact(clustered({100, 200, 136}, "shfl_bw:V=32", {.tile_n = 64, .blocks = 2}));
}

/// The form of a kernel that racecheck follows.
TEST(MulticastKernels, EveryLaneArrives) {
  const Schedule clusters = clustered({100, 200, 136}, "shfl_bw:V=32", {.tile_n = 64, .blocks = 2});
  expect_exact(clusters, Emitter::llvm, Arrivals::of_lanes);
  const Size size{130, 200, 136};
  const std::string format = "n_m:V=64,k=64";
  const Schedule alone = v_n_m(spmm_algorithm(size.rows, size.depth, Extent(size.columns), DType::f16),
                               weights_of(size, format), target_named("sm_90a"), {.blocks = 2});
  expect_exact(alone, Emitter::llvm, Arrivals::of_lanes);
}

/// Values and metadata.
TEST(MulticastKernels, TwoOfFour) {
  expect_exact(clustered({130, 300, 136}, "n_m:V=64,k=64", {.tile_n = 64, .warp_n = 64, .blocks = 2}));
  expect_exact(clustered({300, 300, 264}, "n_m:V=128,k=64", {.tile_n = 128, .blocks = 4}));
}

TEST(MulticastKernels, Convolutions) {
  Convolution c;
  c.batch = 24;
  c.channels = 9;
  c.filters = 70;
  c.image = {5, 7};
  c.filter = {3, 3};
  c.pad = {1, 1};
  c.layout = ImageLayout::chwn;
  const auto flat = weights_of({c.filters, c.channels * 9}, "shfl_bw:V=64");
  WeightMatrix filters = from_dense(flat->to_dense(), "filters");
  filters.shape = {c.filters, c.channels, 3, 3};
  const auto weights = std::make_shared<const SparseTensor>(pack(filters, parse_format("shfl_bw:V=64")));
  expect_exact(shfl_bw(convolution_algorithm(c, DType::f16), weights, target_named("sm_90a"),
                       {.tile_n = 128, .warp_n = 128, .blocks = 4, .cluster = 2}));
}

std::string text_of(const Schedule& s, Emitter emitter) {
  KernelOptions options;
  options.assemble = false;
  options.emitter = emitter;
  const Kernel kernel = compile(s, options);
  return emitter == Emitter::cuda ? kernel.cuda_source() : kernel.ptx();
}

TEST(MulticastKernels, ALaunchIsOfClusters) {
  const Schedule s = clustered({130, 150, 200}, "shfl_bw:V=64", {.tile_n = 64, .warp_n = 64, .blocks = 2});
  const std::string ptx = text_of(s, Emitter::llvm);
  for (const char* text : {".reqnctapercluster 1, 1, 2", ".multicast::cluster [", "mapa.shared::cluster.u32",
                           "barrier.cluster.arrive.release.aligned"})
    EXPECT_THAT(ptx, HasSubstr(text));
}

/// The text with the last place of `found` changed.
std::string edited(std::string text, const std::string& found, const std::string& by) {
  const std::size_t place = text.rfind(found);
  EXPECT_NE(place, std::string::npos) << found;
  return text.replace(place, found.size(), by);
}

/// What each part is there for: without it the simulator reports something, or results are wrong.
TEST(MulticastKernels, NothingCanBeLeftOut) {
  const Schedule s =
      clustered({330, 400, 256}, "vector_wise:V=64", {.tile_n = 64, .stages = 2, .warp_n = 64, .blocks = 4});
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel = compile(s, options);
  const std::string barrier = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
  const std::string first = edited(edited(kernel.ptx(), barrier, "LAST"), barrier, "bar.sync 0;");
  Array b = random_array(DType::f16, {400, 256}, 7, RandomValues::small_integers);
  Array c(DType::f16, {330, 256});
  for (const auto& [what, ptx] :
       {std::pair{"blocks leave at once", edited(kernel.ptx(), barrier, "")},
        {"barriers of one block alone are ready", edited(first, "LAST", barrier)},
        {"one block gets the tile", edited(kernel.ptx(), "mov.b16 blocks, 3;", "mov.b16 blocks, 1;")},
        {"all arrive at the first block",
         std::regex_replace(kernel.ptx(), std::regex("(mapa[^;]*), %r[0-9]+;"), "$1, 0;")}}) {
    SCOPED_TRACE(what);
    bool passed = false;
    try {
      const Device device = Device::simulator("sm_90a");
      passed = verify(kernel.with_ptx(ptx), device, {{{"B", &b}, {"C", &c}}, {}}).passed;
    } catch (const RuntimeError& error) {
      EXPECT_STRNE(error.what(), "");
    }
    EXPECT_FALSE(passed);
  }
}

TEST(MulticastKernels, AsCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] " << cuda::compiler_status().sentence;
  const Schedule s = clustered({330, 200, 200}, "shfl_bw:V=64", {.tile_n = 64, .warp_n = 64, .blocks = 4});
  EXPECT_THAT(text_of(s, Emitter::cuda), HasSubstr("__cluster_dims__(1, 1, 2)"));
  expect_exact(s, Emitter::cuda);
}

}  // namespace
}  // namespace weft
