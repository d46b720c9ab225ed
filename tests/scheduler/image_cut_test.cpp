// What sparsert's cuts cost beside what was measured, and what fits a processor.
#include <gtest/gtest.h>
#include <weft/scheduler/recipes/unstructured/cut.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

struct Measured {
  BakedCut cut;
  double microseconds;
};
struct Points {
  BakedSize size;
  std::vector<Measured> of;
};

/// On an H200, made weights (docs/measurements.md): the fastest point, the slowest, and two between them.
const std::vector<Points>& measured() {
  static const std::vector<Points> all{
      {{64, 256, 1638, 3136, 4},
       {{{32, 64, 2}, 2.58}, {{16, 64, 2}, 2.87}, {{32, 32, 4}, 3.10}, {{16, 256, 2}, 3.65}}},
      {{128, 512, 3277, 784, 4},
       {{{32, 32, 4}, 2.35}, {{32, 32, 2}, 2.51}, {{8, 64, 8}, 2.80}, {{64, 32, 16}, 4.08}}},
      {{1024, 256, 26214, 196, 4},
       {{{32, 64, 4}, 2.77}, {{16, 128, 2}, 3.08}, {{64, 32, 8}, 4.08}, {{64, 32, 16}, 5.11}}},
      {{2048, 512, 52429, 256, 4},
       {{{32, 128, 4}, 4.30}, {{16, 256, 2}, 4.87}, {{16, 128, 2}, 6.03}, {{64, 32, 16}, 14.04}}},
      {{512, 512, 26214, 256, 4},
       {{{16, 64, 4}, 2.93}, {{16, 64, 8}, 3.29}, {{32, 32, 16}, 3.72}, {{16, 32, 8}, 4.96}}},
      {{128, 128, 819, 3136, 4},
       {{{64, 64, 1}, 2.23}, {{16, 128, 1}, 2.52}, {{16, 64, 4}, 2.75}, {{64, 128, 4}, 3.43}}},
      {{256, 256, 3277, 784, 4},
       {{{64, 32, 4}, 2.31}, {{64, 32, 2}, 2.45}, {{8, 64, 1}, 2.62}, {{64, 64, 8}, 3.36}}},
      {{512, 256, 6554, 196, 4},
       {{{32, 64, 2}, 2.02}, {{32, 32, 8}, 2.17}, {{16, 32, 2}, 2.32}, {{64, 32, 8}, 2.48}}},
      {{512, 512, 13107, 196, 4},
       {{{32, 32, 8}, 2.62}, {{16, 64, 2}, 2.76}, {{32, 32, 16}, 2.85}, {{32, 64, 8}, 3.09}}},
      {{2048, 512, 52429, 49, 4},
       {{{32, 32, 8}, 3.02}, {{16, 64, 8}, 3.50}, {{16, 64, 4}, 3.69}, {{32, 64, 8}, 3.76}}},
      {{128, 64, 819, 3136, 4},
       {{{64, 32, 1}, 2.04}, {{16, 64, 2}, 2.22}, {{32, 64, 4}, 2.41}, {{64, 128, 4}, 3.19}}}};
  return all;
}

TEST(SparseRtCut, TheCheapestOfMeasuredCutsIsNearlyTheFastest) {
  for (const Points& points : measured()) {
    const BakedProduct product(points.size, target_named("sm_90a"));
    const auto chosen = std::ranges::min_element(
        points.of, {}, [&](const Measured& one) { return product.microseconds(one.cut); });
    EXPECT_LE(chosen->microseconds, 1.1 * points.of.front().microseconds)
        << points.size.rows << " x " << points.size.inner << " x " << points.size.columns << ": rows "
        << chosen->cut.rows << ", threads " << chosen->cut.threads << ", groups " << chosen->cut.groups;
  }
}

TEST(SparseRtCut, ColumnsAreHeldWhereResultsAreMostOfWhatMoves) {
  const auto held = [](const BakedSize& size) { return held_cut(size, target_named("sm_90a")).has_value(); };
  EXPECT_TRUE(held({256, 64, 1'638, 100'352, 4}));
  EXPECT_TRUE(held({256, 128, 3'277, 25'088, 4}));
  EXPECT_FALSE(held({256, 128, 3'277, 25'088, 8})) << "no room for a column of f64";
  EXPECT_FALSE(held({64, 32, 205, 401'408, 4})) << "so little is read that it may as well be copied";
  EXPECT_FALSE(held({128, 128, 1'638, 100'352, 4})) << "as much is read as stored";
  EXPECT_FALSE(held({256, 128, 3'277, 100'352, 4})) << "no room for all threads";
  EXPECT_FALSE(held({256, 64, 1'638, 3'136, 4})) << "too few threads";
  EXPECT_FALSE(held({512, 128, 6'554, 25'088, 4})) << "too much code";
}

TEST(SparseRtCut, TheCheapestFitsEveryTarget) {
  for (const Target& target : targets()) {
    if (!target.is_gpu()) continue;
    for (const std::int64_t bytes : {2, 4, 8}) {
      for (Points points : measured()) {
        points.size.bytes_of_sum = bytes;
        const BakedProduct product(points.size, target);
        const BakedCut cut = product.cheapest({});
        EXPECT_TRUE(product.is_possible(cut)) << target.name << ", " << bytes << " bytes";
        const std::int64_t threads = cut.threads * cut.groups * product.resident(cut);
        EXPECT_LE(threads, target.threads_per_multiprocessor) << target.name;
        const ChunkedCut chunks = chunked_cut(points.size, target, {});
        EXPECT_LE(chunks.depth * chunks.chunk * chunks.threads * bytes, target.shared_bytes_per_block)
            << target.name << ", " << bytes << " bytes";
      }
    }
  }
}

TEST(SparseRtCut, KnobsAreTaken) {
  const Target& target = target_named("sm_90a");
  const BakedProduct product({512, 512, 26214, 256, 4}, target);
  const BakedCut cut = product.cheapest({.rows = 24, .threads = 96, .groups = 3});
  EXPECT_EQ(cut.rows, 24);
  EXPECT_EQ(cut.threads, 96);
  EXPECT_EQ(cut.groups, 3);
  const ChunkedCut chunks =
      chunked_cut({512, 512, 26214, 8192, 4}, target, {.rows = 32, .threads = 64, .chunk = 8, .depth = 2});
  EXPECT_EQ(chunks.rows, 32);
  EXPECT_EQ(chunks.threads, 64);
  EXPECT_EQ(chunks.chunk, 8);
  EXPECT_EQ(chunks.depth, 2);
}

TEST(SparseRtCut, RegistersAreSharedByTheBlocksThatAProcessorGets) {
  const BakedProduct product({512, 512, 26214, 256, 4}, target_named("sm_90a"));
  EXPECT_EQ(product.resident({16, 64, 4}), 1);   // 128 blocks
  EXPECT_EQ(product.resident({16, 32, 4}), 2);   // 256
  EXPECT_EQ(product.resident({8, 32, 1}), 4);    // 512
  EXPECT_EQ(product.resident({64, 32, 16}), 1);  // as many as there are registers for
}

TEST(SparseRtCut, RingsWantABlockForNearlyEveryProcessor) {
  const Target& target = target_named("sm_90a");
  EXPECT_FALSE(chunked_cut({512, 2048, 52429, 1568, 4}, target, {}).keeps_busy);
  EXPECT_FALSE(chunked_cut({1024, 1024, 52429, 1568, 4}, target, {}).keeps_busy);
  EXPECT_TRUE(chunked_cut({1024, 1024, 52429, 12544, 4}, target, {}).keeps_busy);
}

TEST(SparseRtCut, ThreadsReadTheirElementsWhereRingsWereSlower) {
  const Target& target = target_named("sm_90a");
  EXPECT_TRUE(reads_from_threads({512, 2048, 104858, 1568, 4}, target));
  EXPECT_TRUE(reads_from_threads({512, 512, 26214, 4096, 4}, target)) << "all blocks have room at once";
  EXPECT_TRUE(reads_from_threads({256, 1024, 26214, 6272, 4}, target));
  EXPECT_TRUE(reads_from_threads({512, 256, 6554, 6272, 4}, target));
  EXPECT_FALSE(reads_from_threads({1024, 256, 26214, 6272, 4}, target)) << "no cut of one wave";
  EXPECT_FALSE(reads_from_threads({512, 512, 13107, 8192, 4}, target));
  EXPECT_FALSE(reads_from_threads({256, 256, 3277, 25088, 4}, target)) << "bound by memory";
}

TEST(SparseRtCut, LargeBlocksOfOneWave) {
  struct Case {
    BakedSize size;
    BakedCut cut;
  };
  // As measured on an H200 to be the fastest, or within a fifth of that.
  for (const auto& [size, cut] :
       {Case{{256, 1024, 26214, 6272, 4}, {64, 192, 2}}, Case{{1024, 256, 13107, 6272, 4}, {128, 192, 1}},
        Case{{512, 2048, 104858, 1568, 4}, {40, 160, 4}}, Case{{512, 2048, 52429, 1568, 4}, {40, 160, 2}},
        Case{{2048, 512, 104858, 1568, 4}, {64, 416, 1}}, Case{{2048, 512, 52429, 1568, 4}, {96, 288, 1}},
        Case{{512, 256, 13107, 6272, 4}, {64, 416, 1}}, Case{{512, 256, 6554, 6272, 4}, {128, 192, 1}},
        Case{{512, 512, 13107, 6272, 4}, {128, 192, 2}}, Case{{1024, 512, 52429, 1568, 4}, {40, 320, 1}},
        Case{{1024, 512, 26214, 1568, 4}, {64, 224, 1}}, Case{{1024, 1024, 104858, 1568, 4}, {40, 320, 2}},
        Case{{1024, 1024, 52429, 1568, 4}, {64, 224, 1}}}) {
    const BakedCut chosen = BakedProduct(size, target_named("sm_90a")).cheapest({});
    SCOPED_TRACE(testing::PrintToString(size.rows) + " x " + testing::PrintToString(size.inner));
    EXPECT_EQ(chosen.rows, cut.rows);
    EXPECT_EQ(chosen.threads, cut.threads);
    EXPECT_EQ(chosen.groups, cut.groups);
  }
}

TEST(SparseRtCut, LargeBlocksThatDoNotAllHaveRoom) {
  const BakedProduct product({4096, 512, 209715, 2048, 4}, target_named("sm_90a"));
  EXPECT_FALSE(product.cut_of_one_wave());
  const BakedCut cut = product.cheapest({});
  EXPECT_EQ(cut.rows, 64);
  EXPECT_EQ(cut.threads, 256);
}

// 65,536 registers are 16 warps of 128 registers: two blocks of seven warps, and two warps more.
TEST(SparseRtCut, BlocksShareRegistersByWholeWarps) {
  const Target& target = target_named("sm_90a");
  EXPECT_EQ(resident_blocks(1000, {224, 128, 0}, target), 2);
  // 19 warps of 104 registers would be 65,000 registers, but a quarter holds four such warps, so 16.
  EXPECT_EQ(resident_blocks(1000, {192, 104, 0}, target), 2);
}

}  // namespace
}  // namespace weft
