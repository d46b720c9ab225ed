// Inf and NaN beside pruned places: every format, recipe and back end keeps the rule that stands in
// backends/reference.h.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t rows = 45, inner = 70;

const std::vector<std::string> all_formats{"dense",
                                           "csr",
                                           "csr:order=dealt,rows=16",
                                           "csr:index=16",
                                           "column_blocks:columns=16",
                                           "csc",
                                           "coo",
                                           "ell",
                                           "ell:order=length",
                                           "padded_csr",
                                           "padded_csr:block=16,pad=8",
                                           "padded_csr:fill=16",
                                           "sliced_ell:pad=2,slice=4",
                                           "bitmap",
                                           "bcsr:b=8",
                                           "blocked_ell:b=8",
                                           "hb_ell",
                                           "hb_ell:offset=4,step=4",
                                           "hb_ell:pairs=1",
                                           "vector_wise:V=16,k=16",
                                           "shfl_bw:V=16,k=16",
                                           "n_m:V=16",
                                           "v_n_m:M=8,V=16",
                                           "mixed:V=16",
                                           "column_quads:V=16",
                                           "column_windows",
                                           "lane_streams:columns=64",
                                           "pair_words:columns=64"};

WeightMatrix matrix_for(const Format& format, DType dtype) {
  return fitted(synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0.8, .dtype = dtype, .seed = 5}),
                format);
}

/// Operands with Inf and NaN in places of B, among them the first and the last row, to which padding points
/// where it is wrong.
struct Operands {
  Array b, c;
  Arguments arguments{{{"B", &b}, {"C", &c}}, {}};

  Operands(DType dtype, std::int64_t width, std::uint64_t seed)
      : b(random_array(dtype, {inner, width}, seed)), c(dtype, {rows, width}) {
    std::mt19937_64 random(seed);
    for (const double special : {infinity, -infinity, nan, infinity}) {
      const auto row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(inner));
      b.set(row * width + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(width)), special);
    }
    b.set(0, infinity);
    b.set(inner * width - 1, nan);
  }
};

void expect_right(const Kernel& kernel, const Device& device, std::int64_t width) {
  for (const std::uint64_t seed : {1U, 2U}) {
    Operands operands(kernel.schedule().weights()->dtype(), width, seed);
    const Verification found = verify(kernel, device, operands.arguments);
    EXPECT_TRUE(found.passed) << device.name() << ", seed " << seed << ": " << found.text() << "\n"
                              << kernel.schedule().cpp();
  }
}

TEST(PrunedInfinity, DefaultSchedulesOfEveryFormatKeepTheRule) {
  constexpr std::int64_t width = 19;
  for (const std::string& text : all_formats) {
    SCOPED_TRACE(text);
    const Format format = parse_format(text);
    const auto weights = std::make_shared<const SparseTensor>(pack(matrix_for(format, DType::f32), format));
    for (const char* target : {"cpu", "sm_80"}) {
      const bool on_cpu = std::string(target) == "cpu";
      const Kernel kernel = compile(
          default_schedule(spmm_algorithm(rows, inner, width, DType::f32), weights, target_named(target)),
          {.assemble = false});
      expect_right(kernel, on_cpu ? Device::cpu() : Device::simulator(target), width);
    }
  }
}

/// The usual point of a space, and one by chance.
std::vector<Schedule> schedules_of(const Space& space) {
  std::vector<Schedule> schedules;
  const Points points = space.feasible();
  if (const auto usual = space.usual()) schedules.push_back(space.schedule(*usual));
  std::mt19937_64 random(7);
  if (!points.empty()) schedules.push_back(space.schedule(points[random() % points.size()]));
  return schedules;
}

TEST(PrunedInfinity, EveryRecipeKeepsTheRule) {
  std::map<std::string_view, int> tried;
  for (const char* name : {"sm_80", "sm_90a", "cpu"}) {
    const Target target = target_named(name);
    const Device device = target.is_gpu() ? Device::simulator(name) : Device::cpu();
    for (const DType dtype : {DType::f16, DType::f32}) {
      for (const char* text : {"csr", "hb_ell:every=2", "shfl_bw:V=16", "vector_wise:V=32", "n_m:V=64",
                               "v_n_m:M=8,V=64", "column_quads:V=64", "column_vectors",
                               "column_blocks:columns=16", "column_windows", "lane_streams", "pair_words"}) {
        const Format format = parse_format(text);
        const std::int64_t width = format.name == "column_windows" ? 1 : 40;
        const SpaceProblem problem{spmm_algorithm(rows, inner, width, dtype),
                                   std::make_shared<const WeightMatrix>(matrix_for(format, dtype)), format};
        for (const Recipe& recipe : recipes()) {
          if (recipe.name == "default" || !recipe.why_not(problem, target).empty()) continue;
          SCOPED_TRACE(testing::Message()
                       << recipe.name << " on " << name << ", " << text << ", " << name_of(dtype));
          for (const Schedule& schedule : schedules_of(space_of(std::string(recipe.name), problem, target))) {
            expect_right(compile(schedule, {.assemble = false}), device, width);
            ++tried[recipe.name];
          }
        }
      }
    }
  }
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == "default") continue;
    EXPECT_GE(tried[recipe.name], 2) << recipe.name;
  }
}

TEST(PrunedInfinity, SparseTensorCoresOfTheSimulatorKeepTheRule) {
  const char* const target = "sm_70_swmma";
  const Format format = parse_format("hb_ell:step=4");
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix_for(format, DType::f16), format));
  const Schedule schedule =
      hb_ell_swmma(spmm_algorithm(rows, inner, 40, DType::f16), weights, target_named(target));
  expect_right(compile(schedule), Device::simulator(target), 40);
}

TEST(PrunedInfinity, TheReferenceTellsWhichElementsMayBeNaN) {
  //  1 . 0    inf  2
  //  . 3 .    1    nan      0 is stored
  //           5    -inf
  const WeightMatrix matrix =
      from_coordinates(2, 3, {0, 0, 1}, {0, 2, 1}, Array::of(std::vector<float>{1, 0, 3}), "made");
  Array b = Array::of(std::vector<float>{static_cast<float>(infinity), 2, 1, static_cast<float>(nan), 5,
                                         -static_cast<float>(infinity)})
                .reshaped({3, 2});
  Array c(DType::f32, {2, 2});
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  for (const char* format : {"csr", "bcsr:b=4", "hb_ell", "dense"}) {
    SCOPED_TRACE(format);
    const SparseTensor weights = pack(matrix, parse_format(format));
    const Reference expected = reference(spmm_algorithm(2, 3, 2, DType::f32), &weights, arguments);
    EXPECT_EQ(expected.value.get(0), infinity);
    EXPECT_EQ(expected.value.get(1), 2);
    EXPECT_EQ(expected.value.get(2), 3);
    EXPECT_TRUE(std::isnan(expected.value.get(3)));
    EXPECT_EQ(expected.or_nan, (std::vector<bool>{false, true, true, true}));
    const auto wrong = [&](std::vector<float> result) {
      return difference(Array::of(result), expected).wrong;
    };
    const auto inf = static_cast<float>(infinity);
    const auto no = static_cast<float>(nan);
    EXPECT_EQ(wrong({inf, 2, 3, no}), -1);
    EXPECT_EQ(wrong({inf, no, no, no}), -1);
    EXPECT_EQ(wrong({no, 2, 3, no}), 0);
    EXPECT_EQ(wrong({inf, inf, 3, no}), 1);
    EXPECT_EQ(wrong({inf, 2, -inf, no}), 2);
    EXPECT_EQ(wrong({inf, 2, 3, 6}), 3);
    EXPECT_GT(difference(Array::of(std::vector<float>{inf, 2.5F, 3, no}), expected).largest, 0.4);
  }
}

TEST(PrunedInfinity, OperandsWithoutThemLeaveNoChoice) {
  const SparseTensor weights = pack(matrix_for(formats::csr(), DType::f32), formats::csr());
  Array b = random_array(DType::f32, {inner, 5}, 1), c(DType::f32, {rows, 5});
  const Reference expected =
      reference(spmm_algorithm(rows, inner, 5, DType::f32), &weights, {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_EQ(std::count(expected.or_nan.begin(), expected.or_nan.end(), true), 0);
}

}  // namespace
}  // namespace weft
