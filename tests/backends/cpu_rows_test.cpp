// The recipe of the CPU: every point is right, and exact where numbers allow it, on sizes that nothing
// divides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <array>
#include <limits>

#include "support/exact_on_cpu.h"
#include "support/examples.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

const Target& cpu() {
  return target_named("cpu");
}

struct Operands {
  std::map<std::string, Array> tensors;
  Arguments arguments;

  explicit Operands(const Algorithm& algorithm, std::int64_t columns = 0) {
    std::uint64_t seed = 3;
    for (const Operand& operand : algorithm.operands) {
      if (operand.storage == Storage::sparse) continue;
      std::vector<std::int64_t> shape;
      for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : columns);
      tensors[operand.name] = random_array(operand.dtype, shape, ++seed, RandomValues::small_integers);
    }
    for (auto& [name, array] : tensors) arguments.tensors[name] = &array;
  }
};

void expect_exact(const Schedule& schedule, std::int64_t columns = 0) {
  SCOPED_TRACE(schedule.cpp() + "\n" + ir::print(schedule.program()));
  const Operands operands(schedule.algorithm(), columns);
  const Verification verified = verify(compile(schedule, {.threads = 2}), Device::cpu(), operands.arguments);
  EXPECT_TRUE(verified.passed) << verified.text();
  EXPECT_EQ(verified.difference.largest, 0) << verified.text();
}

/// The unasked point, and every so many of the others.
void expect_points_exact(const Algorithm& algorithm, const WeightMatrix& weights, const Format& format,
                         std::size_t every) {
  SCOPED_TRACE(algorithm.text() + " in " + format.text());
  const SpaceProblem problem{algorithm, std::make_shared<const WeightMatrix>(weights), format};
  const Space space = space_of("cpu_rows", problem, cpu());
  const Points points = space.feasible();
  ASSERT_FALSE(points.empty());
  ASSERT_TRUE(space.usual());
  const auto packed = std::make_shared<const SparseTensor>(pack(weights, format));
  expect_exact(cpu_rows(algorithm, packed, cpu()));
  for (std::size_t i = 0; i < points.size(); i += every) expect_exact(space.schedule(points[i]));
}

TEST(CpuRows, ProductsOfOddSizes) {
  for (std::int64_t columns = 1; columns <= 17; ++columns)
    expect_points_exact(spmm_algorithm(13, 27, columns, DType::f32), test::small_integers(13, 27),
                        formats::csr(), 17);
  for (const std::int64_t columns : {33, 49, 131})
    expect_points_exact(spmm_algorithm(13, 27, columns, DType::f32), test::small_integers(13, 27),
                        formats::csr(), 41);
  for (const std::int64_t columns : {1, 5, 70})
    expect_points_exact(spmm_algorithm(13, 27, columns, DType::f32), test::small_integers(13, 27),
                        formats::dense(), 29);
}

TEST(CpuRows, EveryPointOfASmallProductAndASmallConvolution) {
  expect_points_exact(spmm_algorithm(5, 12, 19, DType::f32), test::small_integers(5, 12), formats::csr(), 1);
  const Convolution c{
      .batch = 2, .channels = 2, .filters = 3, .image = {4, 6}, .filter = {3, 3}, .pad = {1, 1}};
  expect_points_exact(convolution_algorithm(c, DType::f32), test::small_integers(3, 18), formats::csr(), 1);
}

TEST(CpuRows, OtherTypesAndResults) {
  const Epilogue epilogue{.bias = true, .activation = Activation::relu};
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
    for (const std::int64_t columns : {1, 3, 40})
      expect_points_exact(spmm_algorithm(9, 21, columns, dtype, epilogue), test::small_integers(9, 21, dtype),
                          formats::csr(), 37);
  }
}

TEST(CpuRows, SizesOfTheLaunch) {
  const auto packed =
      std::make_shared<const SparseTensor>(pack(test::small_integers(13, 27), formats::csr()));
  for (const std::int64_t columns : {1, 15, 64, 100}) {
    const Algorithm open = spmm_algorithm(13, 27, Extent::any("N"), DType::f32);
    expect_exact(cpu_rows(open, packed, cpu()), columns);
    expect_exact(cpu_rows(open, packed, cpu(), {.panel = 16, .groups = 4, .order = CpuOrder::panels}),
                 columns);
  }
}

TEST(CpuRows, ConvolutionsInEveryLayout) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn}) {
    for (const std::int64_t batch : {1, 3, 9}) {
      const Convolution c{.batch = batch,
                          .channels = 3,
                          .filters = 5,
                          .image = {9, 11},
                          .filter = {3, 3},
                          .pad = {1, 2},
                          .layout = layout};
      expect_points_exact(convolution_algorithm(c, DType::f32), test::small_integers(5, 27), formats::csr(),
                          47);
    }
    const Convolution far{.batch = 2,
                          .channels = 4,
                          .filters = 3,
                          .image = {12, 19},
                          .filter = {2, 3},
                          .pad = {2, 1},
                          .stride = {2, 2},
                          .dilation = {1, 2},
                          .layout = layout};
    expect_points_exact(convolution_algorithm(far, DType::f32), test::small_integers(3, 24), formats::csr(),
                        61);
    const Convolution pixels{.batch = 2, .channels = 21, .filters = 6, .image = {5, 7}, .layout = layout};
    expect_points_exact(convolution_algorithm(pixels, DType::f32), test::small_integers(6, 21),
                        formats::csr(), 41);
    expect_points_exact(convolution_algorithm(pixels, DType::f32), test::small_integers(6, 21),
                        formats::dense(), 97);
  }
}

TEST(CpuRows, ReadsAnImageWithoutAskingWhereItEnds) {
  const Convolution c{.channels = 3, .filters = 5, .image = {9, 11}, .filter = {3, 3}, .pad = {1, 1}};
  const auto conditions = [&](const WeightMatrix& weights) {
    const auto packed = std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
    const Schedule schedule = cpu_rows(convolution_algorithm(c, DType::f32), packed, cpu());
    std::size_t of_columns = 0;
    ir::each<ir::If>(schedule.program().body, [&](const ir::If& branch) {
      of_columns += ir::any<ir::Load>(branch.condition) ? 1 : 0;
    });
    return of_columns;
  };
  WeightMatrix weights = test::small_integers(5, 27);
  EXPECT_EQ(conditions(weights), 0U);
  // Infinity times a zero beside the image would be no number.
  weights.values.set(0, std::numeric_limits<double>::infinity());
  EXPECT_GT(conditions(weights), 0U);
  const auto packed = std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
  const Schedule schedule = cpu_rows(convolution_algorithm(c, DType::f32), packed, cpu());
  const Operands operands(schedule.algorithm());
  EXPECT_TRUE(verify(compile(schedule), Device::cpu(), operands.arguments).passed);
}

/// A processor with vectors of so many bytes.
Target of_vectors(std::int64_t bytes) {
  Target target = cpu();
  target.vector_bytes = bytes;
  target.first_cache_bytes = bytes * 1024 * 3 / 4;
  return target;
}
std::array<Target, 2> processors() {
  return {of_vectors(64), of_vectors(32)};
}

/// The point that is taken for rows of so many entries.
CpuRows unasked(const Algorithm& algorithm, double entries, const Target& target) {
  return chosen_for({}, cpu_nest(algorithm, formats::csr(), target), algorithm, entries, target);
}

TEST(CpuRows, VectorsAreOfTheIndexThatFillsThem) {
  const auto vectors_of = [](std::int64_t batch, std::int64_t width) {
    const Convolution c{.batch = batch,
                        .channels = 3,
                        .filters = 5,
                        .image = {width, width},
                        .filter = {3, 3},
                        .pad = {1, 1},
                        .stride = {2, 2}};
    const Algorithm algorithm = convolution_algorithm(c, DType::f32);
    expect_exact(cpu_rows(
        algorithm, std::make_shared<const SparseTensor>(pack(test::small_integers(5, 27), formats::csr())),
        cpu()));
    return cpu_nest(algorithm, formats::csr(), processors().front()).vectors;
  };
  EXPECT_EQ(vectors_of(33, 8), "b");
  EXPECT_EQ(vectors_of(3, 8), "q");
  EXPECT_EQ(vectors_of(16, 27), "q");
}

TEST(CpuRows, PanelsStayInTheSecondCache) {
  for (const Target& target : processors()) {
    const std::int64_t bytes = target.vector_bytes, lanes = bytes / 4;
    const std::int64_t rows = target.second_cache_bytes / 2 / (2 * bytes);
    const auto panel = [&](std::int64_t length, std::int64_t width, DType dtype = DType::f32) {
      return unasked(spmm_algorithm(64, length, width, dtype), 64, target).panel;
    };
    EXPECT_EQ(panel(27, 1000), 8 * lanes);
    EXPECT_EQ(panel(rows, 1000), 2 * lanes);
    EXPECT_EQ(panel(rows + 1, 1000), lanes);
    EXPECT_EQ(panel(rows, 1000, DType::f16), 4 * lanes);
    EXPECT_EQ(panel(100 * rows, 1000), lanes);
    EXPECT_EQ(panel(27, 8 * lanes + 1), 16 * lanes);
    EXPECT_EQ(panel(27, 33), 64);
    EXPECT_EQ(panel(27, 5), 8);
  }
}

TEST(CpuRows, SeveralSumsWhereVectorsAreFew) {
  const auto groups_of = [](std::int64_t width, double entries, DType dtype = DType::f32) {
    return unasked(spmm_algorithm(64, 128, width, dtype), entries, processors().front()).groups;
  };
  EXPECT_EQ(groups_of(1, 100), 8);  // a vector of them, which halves cannot gather
  EXPECT_EQ(groups_of(1, 100, DType::f16), 4);
  EXPECT_EQ(groups_of(16, 100), 4);
  EXPECT_EQ(groups_of(16, 9), 2);
  EXPECT_EQ(groups_of(64, 100), 2);
  EXPECT_EQ(groups_of(128, 100), 2);
  EXPECT_EQ(groups_of(256, 100), 1);
}

TEST(CpuRows, LinesOfAnImageThatRegistersHold) {
  using Cut = std::pair<std::int64_t, std::int64_t>;
  const auto cut = [](const Target& target, std::int64_t channels, std::int64_t image) {
    const Convolution c{
        .channels = channels, .filters = 64, .image = {image, image}, .filter = {3, 3}, .pad = {1, 1}};
    const CpuRows chosen = unasked(convolution_algorithm(c, DType::f32), 50, target);
    return std::pair(chosen.panel, chosen.rows);
  };
  const auto [wide, narrow] = processors();
  EXPECT_EQ(cut(wide, 8, 56), Cut(64, 4));
  EXPECT_EQ(cut(wide, 64, 56), Cut(64, 2));  // 4 lines would leave the first cache
  EXPECT_EQ(cut(wide, 256, 14), Cut(16, 14));
  EXPECT_EQ(cut(wide, 192, 17), Cut(32, 9));
  EXPECT_EQ(cut(narrow, 64, 56), Cut(8, 8));
  EXPECT_EQ(cut(narrow, 96, 35), Cut(64, 5));  // 6 lines would leave one that is not whole
}

TEST(CpuRows, EverySecondPixelIsReadWithoutAGather) {
  const auto packed = std::make_shared<const SparseTensor>(pack(test::small_integers(5, 27), formats::csr()));
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
    for (const std::int64_t width : {32, 57}) {
      const Convolution c{.channels = 3,
                          .filters = 5,
                          .image = {9, width},
                          .filter = {3, 3},
                          .pad = {1, 1},
                          .stride = {2, 2},
                          .layout = layout};
      const Schedule schedule = cpu_rows(convolution_algorithm(c, DType::f32), packed, cpu());
      expect_exact(schedule);
      // Of a processor that has the instruction, LLVM may gather in a loop that copies.
      EXPECT_THAT(llvm_backend::compile_for_cpu(lower(schedule.program(), cpu()), {.processor = "x86-64-v2"})
                      .llvm_ir(),
                  Not(HasSubstr("masked.gather")));
    }
  }
}

TEST(CpuRows, GroupsOfASumAreAVector) {
  Schedule s = test::spmm_schedule("cpu", formats::csr(), 1);
  s.split(k = 16).split_k("k.inner", groups = 16);
  s.reorder("k.outer", "k.inner.group", "k.inner").vectorize("k.inner.group");
  EXPECT_THAT(ir::print(s.program()), HasSubstr("for k.inner.group in 0 .. 16  # vectorized\n"));
  // All but the last vector of a row run without a mask.
  EXPECT_THAT(ir::print(lower(s.program(), cpu()).program), HasSubstr("else\n"));
  const Operands operands(s.algorithm());
  EXPECT_TRUE(verify(compile(s), Device::cpu(), operands.arguments).passed);
}

TEST(CpuRows, RefusesWhatItCannotFollow) {
  const auto packed =
      std::make_shared<const SparseTensor>(pack(test::small_integers(13, 27), formats::csr()));
  const Algorithm product = spmm_algorithm(13, 27, 40, DType::f32);
  const auto said = [&](const CpuRows& knobs, const char* target = "cpu") -> std::string {
    try {
      cpu_rows(product, packed, target_named(target), knobs);
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(said({}, "sm_80"), HasSubstr("the target sm_80"));
  EXPECT_THAT(said({.rows = 4}), HasSubstr("rows beyond 1"));
  EXPECT_THAT(said({.copy = CpuCopy::image}), HasSubstr("no loop goes over images"));
  EXPECT_THAT(said({.copy = CpuCopy::panel, .order = CpuOrder::rows}), HasSubstr("order = panels"));
  EXPECT_THAT(said({.order = CpuOrder::rows, .threads = CpuThreads::panels}), HasSubstr("threads = rows"));
  EXPECT_THAT(said({.panel = 5000}), HasSubstr("panel"));
  const auto by_column =
      std::make_shared<const SparseTensor>(pack(test::small_integers(13, 27), formats::csc()));
  EXPECT_THROW(cpu_rows(product, by_column, cpu()), UserError);
}

}  // namespace
}  // namespace weft
