// What sparsert's cuts of a convolution cost beside what was measured, and how far tiles reach.
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/whole_runs.h>
#include <weft/scheduler/recipes/unstructured/image.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

WEFT_INDEX(f);
WEFT_INDEX(p);
WEFT_INDEX(q);
WEFT_INDEX(c);
WEFT_INDEX(r);
WEFT_INDEX(s);

/// 3 x 3 filters, as many as channels, of a square image with a border of one.
Algorithm convolution(std::int64_t channels, std::int64_t image) {
  const Tensor<f32, 4, sparse> W("W", {channels, channels, 3, 3});
  const Tensor<f32, 3> I("I", {channels, image, image});
  const Tensor<f32, 3> O("O", {channels, image, image});
  return algorithm("convolution", O(f, p, q) = sum(c, r, s, W(f, c, r, s) * I(c, p + r - 1, q + s - 1)));
}

struct Measured {
  ImageCut<std::int64_t> cut;
  double microseconds;
};
struct Points {
  std::int64_t channels, image, stored;
  std::vector<Measured> of;
};

SparseRtConvolution convolution_of(const Points& points) {
  const Algorithm computes = convolution(points.channels, points.image);
  return {computes, points.channels, points.channels * 9, points.stored, convolution_loops(computes)};
}

/// On an H200, made weights (docs/measurements.md): the fastest point and some slower ones.
const std::vector<Points>& measured() {
  static const std::vector<Points> all{
      {64, 56, 3686, {{{16, 2, 2, 1}, 3.48}, {{8, 4, 2, 1}, 4.59}}},
      {64, 56, 1843, {{{32, 1, 4, 1}, 2.97}, {{16, 2, 2, 1}, 3.10}, {{16, 2, 4, 1}, 3.35}}},
      {128, 28, 7373, {{{16, 2, 4, 1}, 3.40}, {{16, 2, 8, 1}, 3.57}, {{8, 4, 4, 1}, 3.94}}},
      {256,
       14,
       58982,
       {{{4, 8, 4, 1}, 6.95}, {{8, 4, 8, 1}, 8.10}, {{4, 14, 2, 1}, 9.92}, {{16, 2, 16, 1}, 13.22}}},
      {256,
       14,
       29491,
       {{{8, 4, 8, 1}, 4.87}, {{4, 8, 4, 1}, 5.09}, {{8, 8, 4, 1}, 6.53}, {{16, 2, 16, 1}, 8.36}}},
      {512, 7, 117965, {{{8, 4, 16, 1}, 12.21}, {{4, 8, 8, 1}, 14.17}, {{8, 8, 8, 1}, 16.69}}}};
  return all;
}

TEST(SparseRtImage, TheCheapestOfMeasuredCutsIsNearlyTheFastest) {
  for (const Points& points : measured()) {
    const SparseRtConvolution image = convolution_of(points);
    const auto chosen =
        std::ranges::min_element(points.of, {}, [&](const Measured& one) { return image.cost(one.cut); });
    EXPECT_LE(chosen->microseconds, 1.2 * points.of.front().microseconds)
        << points.channels << " channels, " << points.stored << " entries: " << chosen->cut.rows
        << " filters, " << chosen->cut.lines << " lines, " << chosen->cut.groups << " groups";
  }
}

TEST(SparseRtImage, CostsAreMicroseconds) {
  for (const Points& points : measured()) {
    for (const Measured& one : points.of)
      EXPECT_NEAR(convolution_of(points).cost(one.cut) / one.microseconds, 1, 0.25)
          << points.channels << " channels, " << one.cut.rows << " filters, " << one.cut.lines << " lines";
  }
}

TEST(SparseRtImage, RegistersAreSharedByTheBlocksThatAProcessorGets) {
  const SparseRtConvolution image = convolution_of(measured().front());
  const Target& target = target_named("sm_90a");
  EXPECT_EQ(image.resident({16, 2, 2, 1}, target), 1);  // 112 blocks
  EXPECT_EQ(image.resident({8, 2, 2, 1}, target), 2);   // 224
  EXPECT_EQ(image.resident({8, 8, 1, 1}, target), 1);   // shared memory holds one
}

TEST(WholeRuns, EndsMoveOutToMultiples) {
  const Stretch lines = in_whole_runs({-1, 58}, 56, 4);
  EXPECT_EQ(lines.begin, -2);
  EXPECT_EQ(lines.extent, 60);
  EXPECT_EQ(in_whole_runs({-3, 20}, 14, 2).begin, -3);   // no multiple of the run
  EXPECT_EQ(in_whole_runs({-1, 9}, 7, 4).extent, 9);     // neither
  EXPECT_EQ(in_whole_runs({-1, 6}, 4, 4).extent, 6);     // a third more
  EXPECT_EQ(in_whole_runs({1, 13}, 14, 4).extent, 13);   // inside
  EXPECT_EQ(in_whole_runs({-1, 58}, 56, 8).extent, 58);  // a run is one element
}

}  // namespace
}  // namespace weft
