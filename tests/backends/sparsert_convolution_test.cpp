// Convolutions of the recipe sparsert as PTX in the simulator: all shapes, layouts and epilogues, staged and
// clamped.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/algorithm.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/golden.h"

namespace weft {
namespace {

using Shape = std::vector<std::int64_t>;
using SharedWeights = std::shared_ptr<const SparseTensor>;

SharedWeights in_csr(const WeightMatrix& matrix) {
  return std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
}

SharedWeights filters(const Shape& shape, std::int64_t rows, double sparsity) {
  const std::int64_t columns = element_count(shape, "filters") / rows;
  WeightMatrix matrix = synthetic_layer({.rows = rows, .columns = columns, .sparsity = sparsity, .seed = 12});
  matrix.shape = shape;
  return in_csr(matrix);
}

Kernel compiled(const Schedule& schedule) {
  KernelOptions options;
  options.assemble = false;
  return compile(schedule, options);
}

bool has_step(const Schedule& schedule, const std::string& name) {
  return std::ranges::any_of(schedule.steps(), [&](const Step& step) { return step.name == name; });
}

Array poisoned(const Shape& shape) {
  Array array(DType::f32, shape);
  for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, std::nan(""));
  return array;
}

/// Runs into poisoned outputs; the simulator finds races, places nobody wrote and reads out of bounds.
void expect_right(const Schedule& schedule, Arguments arguments, const std::string& output) {
  SCOPED_TRACE(schedule.cpp());
  Array& result = *arguments.tensors.at(output);
  result = poisoned(result.shape());
  const Verification verification = verify(compiled(schedule), Device::simulator("sm_80"), arguments);
  EXPECT_TRUE(verification.passed) << verification.text();
}

void expect_right(const Convolution& c, const SparseRtKnobs& knobs) {
  const auto [height, width] = c.output();
  const bool last = c.layout == ImageLayout::nhwc;
  const Algorithm algorithm = convolution_algorithm(c, DType::f32);
  SCOPED_TRACE(algorithm.text());
  Array b = random_array(DType::f32,
                         last ? Shape{c.batch, c.image[0], c.image[1], c.channels}
                              : Shape{c.batch, c.channels, c.image[0], c.image[1]},
                         7);
  Array out(DType::f32,
            last ? Shape{c.batch, height, width, c.filters} : Shape{c.batch, c.filters, height, width});
  const SharedWeights weights = filters({c.filters, c.channels, c.filter[0], c.filter[1]}, c.filters, 0.7);
  const Schedule schedule = sparsert(algorithm, weights, target_named("sm_80"), knobs);
  EXPECT_EQ(has_step(schedule, "stage"), knobs.image != SparseRtImage::clamped);
  expect_right(schedule, Arguments{{{"B", &b}, {"C", &out}}, {}}, "C");
}

/// 3 x 3 filters over an image with a border of one.
Convolution padded_convolution(std::int64_t channels, std::int64_t filters,
                               const std::array<std::int64_t, 2>& image) {
  Convolution convolution;
  convolution.channels = channels;
  convolution.filters = filters;
  convolution.image = image;
  convolution.filter = {3, 3};
  convolution.pad = {1, 1};
  return convolution;
}

std::vector<Convolution> shapes() {
  const Convolution plain = padded_convolution(4, 6, {9, 7});
  std::vector<Convolution> all(9, plain);
  all[1].batch = 3;
  all[2].stride = {2, 2};
  all[3].stride = {3, 1};
  all[3].pad = {2, 0};
  all[4].dilation = {2, 3};
  all[4].pad = {4, 4};
  all[5].filter = {1, 1};
  all[5].pad = {3, 2};  // larger than the filter
  all[6].filter = {5, 2};
  all[6].pad = {0, 0};
  all[7].image = {5, 37};  // two warps of columns, the last of them not full
  all[7].batch = 2;
  all[8].filter = {1, 1};
  all[8].pad = {0, 0};
  all[8].stride = {2, 3};
  return all;
}

TEST(SparseRtConvolution, EveryShapeInBothLayouts) {
  for (Convolution c : shapes()) {
    for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
      c.layout = layout;
      expect_right(c, {.image = SparseRtImage::staged});
      expect_right(c, {.rows = 4, .groups = 2, .image = SparseRtImage::clamped});
    }
  }
}

TEST(SparseRtConvolution, EveryCut) {
  Convolution c = shapes()[0];
  for (const std::int64_t lines : {1, 4, 5, 8, 12}) {
    for (const std::int64_t groups : {1, 3})
      expect_right(c, {.rows = 4, .groups = groups, .lines = lines, .image = SparseRtImage::staged});
  }
}

/// Groups of channels: filters of a block belong to one group, or to several whole ones.
TEST(SparseRtConvolution, GroupsOfChannels) {
  WEFT_INDEX(b);
  WEFT_INDEX(g);
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  WEFT_INDEX(c);
  WEFT_INDEX(r);
  WEFT_INDEX(s);
  const Tensor<f32, 5, sparse> W("W", {6, 4, 2, 3, 3});
  const Tensor<f32, 5> I("I", {2, 6, 2, 7, 9});
  const Tensor<f32, 5> O("O", {2, 6, 4, 7, 9});
  const Algorithm grouped = algorithm(
      "grouped", O(b, g, f, p, q) = sum(c, r, s, W(g, f, c, r, s) * I(b, g, c, p + r - 1, q + s - 1)));
  Array image = random_array(DType::f32, {2, 6, 2, 7, 9}, 7);
  Array out(DType::f32, {2, 6, 4, 7, 9});
  const SharedWeights weights = filters({6, 4, 2, 3, 3}, 24, 0.6);
  for (const std::int64_t rows : {0, 2, 4, 8}) {
    const Schedule schedule =
        sparsert(grouped, weights, target_named("sm_80"), {.rows = rows, .image = SparseRtImage::staged});
    EXPECT_TRUE(has_step(schedule, "stage"));
    EXPECT_TRUE(has_step(schedule, "bake_values"));
    expect_right(schedule, Arguments{{{"I", &image}, {"O", &out}}, {}}, "O");
  }
  // Channel by channel, channels last.
  const Tensor<f32, 5, sparse> V("V", {12, 1, 1, 3, 3});
  const Tensor<f32, 5> J("J", {1, 8, 8, 12, 1});
  const Tensor<f32, 5> P("P", {1, 8, 8, 12, 1});
  const Algorithm depthwise = algorithm(
      "depthwise", P(b, p, q, g, f) = sum(c, r, s, V(g, f, c, r, s) * J(b, p + r - 1, q + s - 1, g, c)));
  Array channels = random_array(DType::f32, {1, 8, 8, 12, 1}, 8);
  Array result(DType::f32, {1, 8, 8, 12, 1});
  expect_right(sparsert(depthwise, filters({12, 1, 1, 3, 3}, 12, 0.4), target_named("sm_80"),
                        {.image = SparseRtImage::staged}),
               Arguments{{{"J", &channels}, {"P", &result}}, {}}, "P");
}

/// The end of a residual block, of one image without a batch.
/// The first filters keep everything, the others little.
TEST(SparseRtConvolution, UnevenFiltersAreDealt) {
  const Convolution c = padded_convolution(4, 16, {9, 7});
  Array dense = random_array(DType::f32, {16, 4, 3, 3}, 5);
  for (std::int64_t i = 4 * 36; i < dense.size(); ++i) {
    if (i % 9 != 0) dense.set(i, 0);
  }
  const Algorithm algorithm = convolution_algorithm(c, DType::f32);
  const SharedWeights weights = in_csr(from_dense(dense, "uneven"));
  Array b = random_array(DType::f32, {1, 4, 9, 7}, 7);
  Array out(DType::f32, {1, 16, 9, 7});
  for (const auto& [order, dealt] :
       {std::pair(SparseRtOrder::chosen, true), std::pair(SparseRtOrder::given, false)}) {
    const Schedule schedule = sparsert(algorithm, weights, target_named("sm_80"),
                                       {.rows = 4, .image = SparseRtImage::staged, .order = order});
    EXPECT_EQ(schedule.weights()->format().text().find("dealt") != std::string::npos, dealt);
    expect_right(schedule, Arguments{{{"B", &b}, {"C", &out}}, {}}, "C");
  }
}

TEST(SparseRtConvolution, BiasResidualAndReluAreFused) {
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  WEFT_INDEX(c);
  WEFT_INDEX(r);
  WEFT_INDEX(s);
  const Tensor<f32, 4, sparse> W("W", {10, 3, 3, 3});
  const Tensor<f32, 3> I("I", {3, 11, 15});
  const Tensor<f32, 3> R("R", {10, 11, 15});
  const Tensor<f32, 3> O("O", {10, 11, 15});
  const Tensor<f32, 1> bias("bias", {10});
  const Algorithm block = algorithm(
      "block",
      O(f, p, q) = relu(sum(c, r, s, W(f, c, r, s) * I(c, p + r - 1, q + s - 1)) + bias(f) + R(f, p, q)));
  Array image = random_array(DType::f32, {3, 11, 15}, 7);
  Array residual = random_array(DType::f32, {10, 11, 15}, 8);
  Array offsets = random_array(DType::f32, {10}, 9);
  Array out(DType::f32, {10, 11, 15});
  for (const std::int64_t groups : {1, 4}) {
    const Schedule schedule = sparsert(block, filters({10, 3, 3, 3}, 10, 0.8), target_named("sm_80"),
                                       {.groups = groups, .image = SparseRtImage::staged});
    EXPECT_TRUE(has_step(schedule, "stage"));
    expect_right(schedule, Arguments{{{"I", &image}, {"R", &residual}, {"bias", &offsets}, {"O", &out}}, {}},
                 "O");
  }
}

/// What is not finite in the image reaches the pixels whose stored weights look there, and no other; so does
/// a weight that is not finite.
TEST(SparseRtConvolution, WhatIsNotFiniteStaysWhereItBelongs) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Convolution c = padded_convolution(2, 2, {5, 6});
  // Filter 0 looks at channel 0, left above; filter 1, whose weight is infinite, at channel 1, right below.
  Array values(DType::f32, {2});
  values.set(0, 2);
  values.set(1, infinity);
  WeightMatrix matrix = from_coordinates(2, 18, {0, 1}, {0, 17}, values, "by hand");
  matrix.shape = {2, 2, 3, 3};
  Array b(DType::f32, {1, 2, 5, 6});
  for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, 1);
  b.set(0, std::nan(""));      // channel 0, at the corner
  b.set(2 * 6 + 5, infinity);  // channel 0, last of a line
  for (const SparseRtImage image : {SparseRtImage::staged, SparseRtImage::clamped}) {
    const Kernel kernel = compiled(sparsert(convolution_algorithm(c, DType::f32), in_csr(matrix),
                                            target_named("sm_80"), {.image = image}));
    Array out = poisoned({1, 2, 5, 6});
    kernel(Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &out}}, {}});
    for (std::int64_t p = 0; p < 5; ++p) {
      for (std::int64_t q = 0; q < 6; ++q) {
        SCOPED_TRACE(std::to_string(p) + ", " + std::to_string(q));
        const double first = out.get(p * 6 + q);
        const double second = out.get((5 + p) * 6 + q);
        if (p == 1 && q == 1) {
          EXPECT_TRUE(std::isnan(first));
        } else {
          EXPECT_EQ(first, p == 0 || q == 0 ? 0 : 2);  // what lies right of a line is nobody's
        }
        EXPECT_EQ(second, p == 4 || q == 5 ? 0 : infinity);
      }
    }
  }
}

TEST(SparseRtConvolution, BoundsGoWhereTheTileIsZero) {
  const Convolution c = padded_convolution(1, 2, {4, 4});
  WeightMatrix matrix =
      from_coordinates(2, 9, {0, 0, 1}, {0, 4, 4}, Array::of(std::vector<float>{1, 2, 3}), "by hand");
  matrix.shape = {2, 1, 3, 3};
  const Schedule schedule =
      sparsert(convolution_algorithm(c, DType::f32), in_csr(matrix), target_named("sm_80"),
               {.rows = 2, .groups = 1, .lines = 8, .image = SparseRtImage::staged});
  test::expect_golden("steps/staged_convolution.txt", schedule.cpp() + "\n" + ir::print(schedule.program()));
}

/// Without room for the lines the recipe reads the image itself; who insists on a tile is told the bytes.
TEST(SparseRtConvolution, TilesThatDoNotFit) {
  const Convolution c = padded_convolution(4096, 2, {8, 8});
  const SharedWeights weights = filters({2, 4096, 3, 3}, 2, 0.999);
  const Algorithm algorithm = convolution_algorithm(c, DType::f32);
  EXPECT_FALSE(has_step(sparsert(algorithm, weights, target_named("sm_80")), "stage"));
  try {
    sparsert(algorithm, weights, target_named("sm_80"), {.image = SparseRtImage::staged});
    FAIL() << "a tile of more bytes than there are";
  } catch (const InfeasibleError& error) {
    EXPECT_NE(std::string(error.what()).find("bytes of shared memory"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace weft
