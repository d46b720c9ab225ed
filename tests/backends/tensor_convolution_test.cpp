// Convolutions of the recipe shfl_bw: implicit products on tensor cores for sm_75, sm_80 and sm_90a, as PTX
// in the simulator, which sees races and memory that nobody wrote, and by their meaning. Integers, so that
// every result is exact.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/algorithm.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "formats/generated_matrices.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using test::expect_exact;
using Shape = std::vector<std::int64_t>;
using SharedWeights = std::shared_ptr<const SparseTensor>;

/// Small integers at the positions of a layer.
WeightMatrix filters(const Shape& shape, double sparsity, DType dtype) {
  const std::int64_t columns = element_count(shape, "filters") / shape.front();
  WeightMatrix matrix = synthetic_layer(
      {.rows = shape.front(), .columns = columns, .sparsity = sparsity, .dtype = dtype, .seed = 12});
  matrix.shape = shape;
  matrix.values = random_array(dtype, {matrix.stored()}, 5, RandomValues::small_integers);
  return matrix;
}

SharedWeights grouped(const WeightMatrix& matrix, std::int64_t rows) {
  return packed(matrix, formats::shfl_bw({.rows = rows}));
}

SharedWeights filters_of(const Convolution& c, std::int64_t rows, DType dtype = DType::f16) {
  return grouped(filters({c.filters, c.channels, c.filter[0], c.filter[1]}, 0.85, dtype), rows);
}

bool has_step(const Schedule& schedule, const std::string& name) {
  return std::ranges::any_of(schedule.steps(), [&](const Step& step) { return step.name == name; });
}

/// 3 x 3 filters over an image with a border of one.
Convolution padded(std::int64_t batch) {
  Convolution c;
  c.batch = batch;
  c.channels = 7;
  c.filters = 70;
  c.image = {9, 7};
  c.filter = {3, 3};
  c.pad = {1, 1};
  c.layout = ImageLayout::chwn;
  return c;
}

std::vector<Convolution> shapes() {
  std::vector<Convolution> all(8, padded(8));
  all[1].batch = 16;
  all[1].stride = {2, 2};
  all[2].batch = 24;
  all[2].stride = {3, 1};
  all[2].pad = {2, 0};
  all[3].dilation = {2, 3};
  all[3].pad = {4, 4};
  all[4].batch = 16;
  all[4].filter = {1, 1};
  all[4].pad = {3, 2};  // larger than the filter
  all[5].filter = {5, 2};
  all[5].pad = {0, 0};
  all[6].batch = 24;
  all[6].filter = {1, 1};
  all[6].pad = {0, 0};
  all[6].stride = {2, 3};
  all[7].image = {1, 11};
  return all;
}

TEST(TensorConvolution, EveryShapeOnHopper) {
  for (const Convolution& c : shapes()) {
    const Schedule s =
        shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a"));
    EXPECT_TRUE(has_step(s, "fuse"));
    EXPECT_TRUE(has_step(s, "specialize_warps"));
    expect_exact(s);
  }
}

TEST(TensorConvolution, EveryShapeWithoutRoles) {
  int number = 0;
  for (const Convolution& c : shapes()) {
    const char* target = number++ % 2 == 0 ? "sm_80" : "sm_75";
    const Schedule s = shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 32), target_named(target));
    EXPECT_TRUE(has_step(s, "fuse") && has_step(s, "tensorize"));
    expect_exact(s);
  }
}

TEST(TensorConvolution, GroupsOfEverySize) {
  for (const std::int64_t rows : {16, 32, 128, 256}) {
    Convolution c = padded(16);
    c.filters = 130;
    expect_exact(shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, rows), target_named("sm_90a")));
  }
}

/// Blocks that go through several tiles, with as many buffers as producers have turns of their loop, and
/// more.
TEST(TensorConvolution, BlocksWithSeveralTiles) {
  Convolution c = padded(16);
  c.filters = 200;
  c.channels = 40;
  for (const std::int64_t buffers : {2, 4, 5}) {
    expect_exact(shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a"),
                         {.tile_n = 128, .stages = buffers, .blocks = 3}));
  }
}

/// Where whole tiles would leave most of the device idle they are narrower.
TEST(TensorConvolution, FewColumnsHaveNarrowTiles) {
  const auto has_tiles_of = [](std::int64_t batch, const char* columns) {
    Convolution c = padded(batch);
    c.image = {14, 14};
    c.channels = 64;
    c.filters = 256;
    const Schedule s =
        shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a"));
    return s.cpp().find(std::string(".split(LoopName(\"p_q_b\") = ") + columns) != std::string::npos;
  };
  EXPECT_TRUE(has_tiles_of(16, "128)"));
  EXPECT_TRUE(has_tiles_of(64, "512)"));
}

/// Without runs of 16 bytes: copies of 8 and 4 bytes, and loads and stores.
TEST(TensorConvolution, BatchesThatEightDoesNotDivide) {
  for (const std::int64_t batch : {1, 3, 4, 6, 12}) {
    const Convolution c = padded(batch);
    for (const char* target : {"sm_90a", "sm_80"}) {
      const Schedule s =
          shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named(target));
      EXPECT_TRUE(has_step(s, "tensorize"));
      EXPECT_FALSE(has_step(s, "specialize_warps"));
      expect_exact(s);
    }
  }
}

TEST(TensorConvolution, OtherLayouts) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
    Convolution c = padded(3);
    c.layout = layout;
    c.stride = {2, 1};
    for (const char* target : {"sm_90a", "sm_80", "sm_75"}) {
      const Schedule s =
          shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named(target));
      EXPECT_TRUE(has_step(s, "tensorize"));
      expect_exact(s);
    }
  }
}

/// One by one, the elements of each size of a group and of a stage, and tiles that are wider than the
/// recipe's.
TEST(TensorConvolution, GathersSingleElements) {
  Convolution c = padded(5);
  c.stride = {1, 2};
  c.dilation = {2, 1};
  c.filters = 140;
  std::int64_t number = 0;
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
    c.layout = layout;
    for (const std::int64_t rows : {16, 32, 128}) {
      const bool wide = ++number % 2 == 0;
      const ShflBwKnobs knobs = wide ? ShflBwKnobs{.tile_n = 128, .tile_k = 32} : ShflBwKnobs{};
      const char* target = rows == 128 ? "sm_90a" : "sm_80";
      expect_exact(shfl_bw(convolution_algorithm(c, DType::bf16), filters_of(c, rows, DType::bf16),
                           target_named(target), knobs));
    }
  }
}

std::string ptx_of_image(ImageLayout layout) {
  Convolution c = padded(3);
  c.channels = 32;
  c.layout = layout;
  KernelOptions options;
  options.assemble = false;
  return compile(shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a")),
                 options)
      .ptx();
}

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Places are kept and not clamped, and pixels beside one another go to the tile together: eight by eight, or
/// four by four. Of the two buffers, the loop and what is in front of it fill one, 64 x 64 elements by 128
/// threads.
TEST(TensorConvolution, ThreadsKeepTheirPixels) {
  const std::string nhwc = ptx_of_image(ImageLayout::nhwc), nchw = ptx_of_image(ImageLayout::nchw);
  for (const std::string& ptx : {nhwc, nchw}) {
    EXPECT_EQ(count(ptx, "ld.global.nc.u16"), 2 * 32);
    EXPECT_EQ(count(ptx, "min.s32"), 0);
    EXPECT_EQ(count(ptx, "st.shared.u16"), 0);
  }
  EXPECT_EQ(count(nhwc, "st.shared.v4.b32"), 2 * 32 / 8);
  EXPECT_EQ(count(nchw, "st.shared.v4.u16"), 2 * 32 / 4);
}

/// Results leave with neighbours of the output beside one another: 16 filters of a pixel in two runs, in
/// order here, or 32 pixels of a filter.
TEST(TensorConvolution, ResultsLeaveBesideOneAnother) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
    Convolution c = padded(2);
    c.filters = 64;
    c.image = {16, 18};
    c.layout = layout;
    const SharedWeights weights =
        packed(filters({64, c.channels, 3, 3}, 0.5, DType::f16), formats::vector_wise({.rows = 64}));
    const Schedule s = shfl_bw(convolution_algorithm(c, DType::f16), weights, target_named("sm_90a"));
    const std::string program = ir::print(s.program());
    const std::size_t stored = program.find("= C.lines[");
    ASSERT_NE(stored, std::string::npos);
    const std::string line =
        program.substr(program.rfind('\n', stored), stored - program.rfind('\n', stored));
    const bool in_runs = layout == ImageLayout::nhwc;
    const char* lane = in_runs ? "line_lane % 2 * 8 + b_p_q.inner.inner.element"
                               : "% 2 * 32 + b_p_q.inner.inner.line_lane) % 8";
    EXPECT_NE(line.find(lane), std::string::npos) << line;
    EXPECT_EQ(line.find(".element") != std::string::npos, in_runs) << line;
  }
}

TEST(TensorConvolution, EpiloguesAndBf16) {
  Convolution c = padded(8);
  expect_exact(shfl_bw(convolution_algorithm(c, DType::bf16, {.bias = true, .activation = Activation::relu}),
                       filters_of(c, 64, DType::bf16), target_named("sm_90a")));
  expect_exact(
      shfl_bw(convolution_algorithm(c, DType::bf16), filters_of(c, 32, DType::bf16), target_named("sm_80")));
}

/// A residual block's end, as a user writes it: filters with their channels last, the old image added.
TEST(TensorConvolution, AsAUserWritesIt) {
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  WEFT_INDEX(b);
  WEFT_INDEX(c);
  WEFT_INDEX(r);
  WEFT_INDEX(s);
  const Tensor<f16, 4, sparse> W("W", {40, 3, 3, 5});
  const Tensor<f16, 4> I("I", {5, 6, 7, 16});
  const Tensor<f16, 4> R("R", {40, 6, 7, 16});
  const Tensor<f16, 4> O("O", {40, 6, 7, 16});
  const Algorithm block = algorithm(
      "block",
      O(f, p, q, b) = relu(sum(c, r, s, W(f, r, s, c) * I(c, p + r - 1, q + s - 1, b)) + R(f, p, q, b)));
  const Schedule schedule =
      shfl_bw(block, grouped(filters({40, 3, 3, 5}, 0.7, DType::f16), 64), target_named("sm_90a"));
  EXPECT_TRUE(has_step(schedule, "specialize_warps"));
  expect_exact(schedule);
}

/// Lists of unequal length, some empty: groups of 64 filters keep 0, 3, 40 columns.
TEST(TensorConvolution, UnequalLists) {
  Convolution c = padded(8);
  c.channels = 12;
  c.filters = 180;
  constexpr std::int64_t kept[] = {3, 0, 100};
  const SharedWeights weights =
      packed(where(filters({180, 12, 3, 3}, 0.5, DType::f16),
                   [&](std::int64_t row, std::int64_t column) { return column < kept[row / 64]; }),
             formats::vector_wise({.rows = 64}));
  for (const char* target : {"sm_90a", "sm_80"})
    expect_exact(shfl_bw(convolution_algorithm(c, DType::f16), weights, target_named(target)));
}

TEST(TensorConvolution, AsCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] " << cuda::compiler_status().sentence;
  const Convolution c = padded(8);
  expect_exact(shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a")),
               Emitter::cuda);
  expect_exact(shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 32), target_named("sm_80")),
               Emitter::cuda);
}

/// Sums of a quotient that all rows share with what each row brings: where there are many, ptxas 13.0 takes
/// one for another and the kernel is wrong on a GPU (docs/decisions.md), which no test of PTX shows.
TEST(TensorConvolution, QuotientsOfPixelsAreNotAddedToRows) {
  Convolution c = padded(64);
  c.filters = 64;
  c.image = {56, 56};  // 7 * 512 elements a line: a quotient without a shift
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel = compile(
      shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a")), options);
  std::map<std::string, int> sums;
  std::istringstream lines(kernel.ptx());
  const std::regex quotient(R"(\s*mul\.hi\.u32\s+(%r\d+), %r\d+, -?\d+;)"),
      sum(R"(\s*add\.s32\s+%r\d+, (%r\d+), (%r\d+);)");
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, found, quotient)) sums[found[1]] = 0;
    if (!std::regex_match(line, found, sum)) continue;
    for (const std::size_t operand : {1U, 2U}) {
      const auto known = sums.find(found[operand]);
      if (known != sums.end()) ++known->second;
    }
  }
  ASSERT_FALSE(sums.empty());
  for (const auto& [name, count] : sums) EXPECT_LE(count, 2) << name;
}

/// The last tile of pixels is not full: no result of a run asks for itself whether it lies inside.
TEST(TensorConvolution, TailsOfTilesLeaveInWholeRuns) {
  Convolution c = padded(64);
  c.filters = 64;
  c.image = {14, 14};  // 24 tiles of 512 and a half
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel = compile(
      shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a")), options);
  EXPECT_NE(kernel.ptx().find("st.global.cs.v4.b32"), std::string::npos);
  EXPECT_EQ(kernel.ptx().find("st.global.u16"), std::string::npos);
}

/// Images and results move in whole runs of 16 bytes.
TEST(TensorConvolution, MovesRunsOfSixteenBytes) {
  const Convolution c = padded(16);
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel = compile(
      shfl_bw(convolution_algorithm(c, DType::f16), filters_of(c, 64), target_named("sm_90a")), options);
  const std::string& ptx = kernel.ptx();
  EXPECT_NE(ptx.find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_EQ(ptx.find("cp.async.ca"), std::string::npos);
  EXPECT_NE(ptx.find("st.global.cs.v4.b32"), std::string::npos);
}

}  // namespace
}  // namespace weft
