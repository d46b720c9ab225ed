// Tiles that are copied ahead into several buffers, and baked code cut into chunks: as PTX in the simulator,
// which sees races with copies that nobody waited for, and by their meaning.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <cmath>
#include <limits>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

using SharedWeights = std::shared_ptr<const SparseTensor>;

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (auto place = text.find(word); place != std::string::npos; place = text.find(word, place + 1)) ++found;
  return found;
}

Kernel compiled(const Schedule& schedule, Emitter emitter = Emitter::llvm) {
  KernelOptions options;
  options.assemble = false;
  options.emitter = emitter;
  return compile(schedule, options);
}

/// Runs the kernel with copies that end as late as they may and at random moments, into poisoned outputs.
void expect_right(const Schedule& schedule, const Kernel& kernel, std::int64_t columns, DType dtype) {
  const SparseTensor& weights = *schedule.weights();
  Array b = random_array(dtype, {weights.columns(), columns}, 7, RandomValues::uniform);
  Array c(dtype, {weights.rows(), columns});
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const Device device = Device::simulator(schedule.target().name);
    simulator::options(device).launch.seed = seed;
    simulator::options(device).launch.late = seed == 0;
    for (std::int64_t i = 0; i < c.size(); ++i) c.set(i, std::nan(""));
    const Verification verification = verify(kernel, device, Arguments{{{"B", &b}, {"C", &c}}, {}});
    ASSERT_TRUE(verification.passed) << verification.text() << "\n" << schedule.cpp() << kernel.ptx();
  }
}

void expect_right(const Schedule& schedule, std::int64_t columns, DType dtype = DType::f32) {
  SCOPED_TRACE(schedule.algorithm().text());
  KernelOptions options;
  options.by_meaning = true;
  Array b = random_array(dtype, {schedule.weights()->columns(), columns}, 7, RandomValues::uniform);
  Array c(dtype, {schedule.weights()->rows(), columns});
  const Verification meaning =
      verify(compile(schedule, options), Device::cpu(), Arguments{{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(meaning.passed) << meaning.text() << "\n" << schedule.cpp();
  expect_right(schedule, compiled(schedule), columns, dtype);
}

struct Chunks {
  std::int64_t rows = 8, threads = 32, columns = 16, buffers = 4;
};

Schedule in_chunks(const Algorithm& algorithm, const SharedWeights& weights, const Chunks& cut,
                   const char* target = "sm_80") {
  Schedule s = schedule(algorithm, weights, target_named(target));
  s.split(m = cut.rows, n = cut.threads)
      .reorder(m.outer, n.outer, n.inner, m.inner)
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bake_values(m.inner, chunk = cut.columns)
      .reorder("k.chunk", n.inner)
      .bind(n.inner, thread);
  s.stage("B", shared, at = "k.chunk", depth = cut.buffers);
  return s;
}

/// Blocks that go through several tiles of columns, and of rows, of baked code.
TEST(Rings, BlocksGoThroughSeveralTiles) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 20, .columns = 50, .sparsity = 0.8, .seed = 5}), formats::csr());
  Schedule s = in_chunks(spmm_algorithm(20, 50, 150, DType::f32), weights, {});
  s.persist(m.outer, n.outer, blocks = 4);
  expect_right(s, 150);
}

/// Blocks that go through tiles, with the same share of all sums each: more blocks than tiles and than
/// iterations, fewer, one.
TEST(Rings, SumsAreDealtToBlocksThatGoThroughTiles) {
  struct Shape {
    std::int64_t rows, inner, columns;
  };
  for (const Shape& shape : {Shape{9, 37, 33}, Shape{1, 1, 1}, Shape{4, 60, 170}}) {
    const SharedWeights weights =
        packed(synthetic_layer({.rows = shape.rows, .columns = shape.inner, .sparsity = 0.7, .seed = 4}),
               formats::csr());
    for (const std::int64_t count : {1, 2, 5, 7, 40}) {
      for (const bool open : {false, true}) {
        Schedule s = schedule(spmm_algorithm(shape.rows, shape.inner,
                                             open ? Extent::any("N") : Extent(shape.columns), DType::f32),
                              weights, target_named("sm_80"));
        s.split(m = 4, n = 32)
            .reorder(m.outer, n.outer, n.inner, m.inner)
            .bind(m.outer, block_y)
            .bind(n.outer, block_x)
            .bind(n.inner, lane)
            .persist(m.outer, n.outer, blocks = count, deal = k);
        expect_right(s, shape.columns);
      }
    }
  }
}

TEST(Rings, ChunksOfBakedCode) {
  struct Case {
    std::int64_t rows, inner, columns;
    double sparsity;
    Chunks cut;
  };
  for (const Case& each :
       {Case{16, 64, 64, 0.8, {}},                              // everything divides
        Case{13, 50, 45, 0.8, {}},                              // nothing does
        Case{7, 70, 36, 0.7, {.rows = 4, .buffers = 2}},        // lines of 16 bytes, the last block in part
        Case{5, 9, 33, 0.5, {.rows = 5}},                       // one chunk, less than its columns
        Case{20, 33, 100, 0.9, {.threads = 64, .buffers = 8}},  // fewer chunks than buffers
        Case{9, 100, 31, 0.95, {.rows = 3, .columns = 7}},      // chunks without an entry
        Case{6, 40, 130, 0.8, {.threads = 96, .columns = 5, .buffers = 3}},
        Case{4, 30, 20, 1.0, {.rows = 2}},  // no entry at all
        Case{3, 1, 1, 0.0, {.rows = 1, .columns = 1, .buffers = 2}},
        Case{12, 48, 66, 0.8, {.buffers = 1}}}) {  // 8 bytes, without a ring
    const SharedWeights weights = packed(
        synthetic_layer({.rows = each.rows, .columns = each.inner, .sparsity = each.sparsity, .seed = 5}),
        formats::csr());
    if (weights->array("values").size() == 0) continue;  // reads nothing of B
    for (const bool open : {false, true}) {
      expect_right(in_chunks(spmm_algorithm(each.rows, each.inner,
                                            open ? Extent::any("N") : Extent(each.columns), DType::f32),
                             weights, each.cut),
                   each.columns);
    }
  }
}

TEST(Rings, EveryNumberOfBuffers) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 6, .columns = 45, .sparsity = 0.8, .seed = 3}), formats::csr());
  for (std::int64_t buffers = 1; buffers <= 8; ++buffers) {
    for (const std::int64_t columns : {3, 16, 45})
      expect_right(
          in_chunks(spmm_algorithm(6, 45, 40, DType::f32), weights, {.columns = columns, .buffers = buffers}),
          40);
  }
}

/// Rows of B in a chunk that no weight reads, and columns behind the last one.
TEST(Rings, WhatNoWeightReadsIsNotUsed) {
  const WeightMatrix matrix = from_coordinates(6, 40, {0, 0, 1, 3, 5, 5}, {1, 20, 4, 39, 1, 6},
                                               random_array(DType::f32, {6}, 3), "by hand");
  constexpr std::int64_t columns = 40;
  Array b = random_array(DType::f32, {40, columns}, 7);
  for (std::int64_t row = 0; row < 40; ++row) {
    if (row == 1 || row == 4 || row == 6 || row == 20 || row == 39) continue;
    for (std::int64_t i = 0; i < columns; ++i)
      b.set(row * columns + i, i % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan(""));
  }
  const Schedule s =
      in_chunks(spmm_algorithm(6, 40, columns, DType::f32), packed(matrix, formats::csr()), {.rows = 4});
  Array c(DType::f32, {6, columns});
  for (std::int64_t i = 0; i < c.size(); ++i) c.set(i, std::nan(""));
  compiled(s)(Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
  for (std::int64_t i = 0; i < c.size(); ++i) ASSERT_TRUE(std::isfinite(c.get(i))) << i;
  for (const std::int64_t empty : {2, 4}) {
    for (std::int64_t i = 0; i < columns; ++i) EXPECT_EQ(c.get(empty * columns + i), 0);
  }
}

TEST(Rings, ChunksBecomeStraightCode) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 64, .columns = 128, .sparsity = 0.9, .seed = 5}), formats::csr());
  const Schedule s =
      in_chunks(spmm_algorithm(64, 128, 512, DType::f32), weights, {.rows = 64, .threads = 128});
  const std::string ptx = compiled(s).ptx();
  EXPECT_EQ(count(ptx, "fma.rn.f32"), weights->array("values").size());
  EXPECT_EQ(count(ptx, "bar.sync"), 8);
  EXPECT_EQ(count(ptx, "cp.async.wait_group"), 8);
  // 16 lines of 128 columns: four pieces of 16 bytes a thread.
  EXPECT_EQ(count(ptx, "cp.async.cg.shared.global"), 8 * 4);
  EXPECT_LE(count(ptx, "ld.shared.f32"), 128);
  EXPECT_EQ(count(ptx, "ld.global"), 0);
  EXPECT_EQ(count(ptx, ".local"), 0);
}

/// The loop of a kernel over tiles: both operands of a product copied ahead, then the product.
Schedule tiles(const Algorithm& algorithm, const SharedWeights& weights, std::int64_t buffers,
               bool serial_blocks = false) {
  Schedule s = schedule(algorithm, weights, target_named("sm_80"));
  s.split(m = 4, n = 64, k = 8)
      .split(n.inner = 32)
      .reorder(m.outer, n.outer, m.inner, n.inner.inner, k.outer, k.inner, n.inner.outer)
      .reorder(m.outer, n.outer, k.outer, m.inner, n.inner.inner, k.inner, n.inner.outer)
      .bind(m.outer, block_x);
  if (!serial_blocks) s.bind(n.outer, block_y);
  s.stage("A", shared, at = k.outer, depth = buffers)
      .stage("B", shared, at = k.outer, depth = buffers)
      .bind(m.inner, warp)
      .bind(n.inner.inner, lane);
  return s;
}

TEST(Rings, TilesOfBothOperands) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const std::int64_t inner : {5, 8, 33, 64}) {
      const SharedWeights weights =
          packed(synthetic_layer({.rows = 10, .columns = inner, .sparsity = 0.5, .dtype = dtype, .seed = 5}),
                 formats::dense());
      for (const std::int64_t columns : {64, 72, 33}) {
        const bool open = columns == 33 && inner == 33;
        const Algorithm algorithm =
            spmm_algorithm(10, inner, open ? Extent::any("N") : Extent(columns), dtype);
        expect_right(tiles(algorithm, weights, inner == 5 ? 2 : 4), columns, dtype);
      }
    }
  }
}

/// A block that goes through the loop again must not fill buffers that slower threads still read.
TEST(Rings, ALoopThatIsEnteredAgain) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 6, .columns = 30, .sparsity = 0.5, .seed = 5}), formats::dense());
  for (const std::int64_t buffers : {1, 2, 3, 8})
    expect_right(tiles(spmm_algorithm(6, 30, 200, DType::f32), weights, buffers, true), 200);
}

TEST(Rings, AsSource) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 13, .columns = 50, .sparsity = 0.8, .seed = 5}), formats::csr());
  const Schedule s = in_chunks(spmm_algorithm(13, 50, 52, DType::f32), weights, {});
  const std::string source = compiled(s).cuda_source();
  EXPECT_EQ(count(source, " wait_for_copies<2>();"), 4);
  EXPECT_NE(source.find("copy_async<16>(&B_shared"), std::string::npos) << source;
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "no compiler for CUDA";
  expect_right(s, compiled(s, Emitter::cuda), 52, DType::f32);
}

/// Lines whose places are multiples of 16 bytes are moved 16 bytes at a time, asynchronously or not.
TEST(Rings, WideCopies) {
  const SharedWeights weights =
      packed(synthetic_layer({.rows = 8, .columns = 24, .sparsity = 0.5, .seed = 5}), formats::csr());
  const auto staged = [&](std::int64_t columns) {
    Schedule s = schedule(spmm_algorithm(8, 24, columns, DType::f32), weights, target_named("sm_75"));
    s.split(m = 4, n = 32).reorder(n.outer, m.outer, m.inner, n.inner).bind(n.outer, block_x);
    s.stage("B", shared, at = n.outer).bind(m.inner, warp).bind(n.inner, lane);
    expect_right(s, columns);
    return compiled(s).ptx();
  };
  EXPECT_GT(count(staged(64), "st.shared.v4.f32"), 0);
  EXPECT_GT(count(staged(60), "st.shared.v4.f32"), 0);
  EXPECT_GT(count(staged(62), "st.shared.v2.f32"), 0);
  EXPECT_EQ(count(staged(61), "st.shared.v"), 0);
}

}  // namespace
}  // namespace weft
