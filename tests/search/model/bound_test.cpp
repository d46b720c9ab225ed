#include <gtest/gtest.h>
#include <weft/formats/synthetic.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/known_error.h>
#include <weft/search/spaces/problems.h>

#include <cmath>

namespace weft {
namespace {

const Target& h200() {
  return target_named("sm_90a");
}

/// Whether a bound over what was measured is what the library says of its error.
bool is_within(const std::optional<KnownError>& error, double ratio) {
  return error && 1 / ratio >= error->least && 1 / ratio <= error->most;
}

ProblemSummary grouped(std::int64_t m, std::int64_t k, std::int64_t n, double density, std::int64_t group) {
  ProblemSummary problem{.m = m, .k = k, .n = n, .dtype = DType::f16};
  problem.stored = m * std::llround(density * static_cast<double>(k));
  problem.dense_elements = k * n;
  problem.group_rows = group;
  return problem;
}

ProblemSummary unstructured(std::int64_t m, std::int64_t k, std::int64_t n, double density) {
  ProblemSummary problem{.m = m, .k = k, .n = n, .dtype = DType::f32};
  problem.stored = std::llround(density * static_cast<double>(m * k));
  problem.dense_elements = k * n;
  return problem;
}

/// A line of docs/measurements.md, "Row groups on tensor cores".
struct Measured {
  std::int64_t m, k, n;
  double sparsity;
  std::int64_t group;
  double microseconds;
};

constexpr Measured row_groups[] = {
    {5120, 5120, 4096, 0.50, 32, 508.8},  {5120, 5120, 4096, 0.90, 32, 106.7},
    {5120, 5120, 4096, 0.50, 64, 233.7},  {5120, 5120, 4096, 0.75, 64, 122.6},
    {5120, 5120, 4096, 0.90, 64, 58.1},   {5120, 5120, 4096, 0.50, 128, 185.5},
    {5120, 5120, 4096, 0.75, 128, 96.8},  {5120, 5120, 4096, 0.90, 128, 45.8},
    {13824, 5120, 2048, 0.50, 64, 333.6}, {13824, 5120, 2048, 0.75, 128, 141.6},
    {4096, 1024, 4096, 0.50, 32, 84.6},   {4096, 1024, 4096, 0.75, 64, 26.6},
    {4096, 1024, 4096, 0.90, 128, 16.6},  {2048, 2048, 2048, 0.50, 32, 42.3},
    {2048, 2048, 2048, 0.50, 64, 18.9},   {2048, 2048, 2048, 0.75, 128, 10.5},
    {5120, 5120, 128, 0.75, 64, 10.1},    {5120, 5120, 512, 0.75, 128, 19.0},
    {5120, 5120, 512, 0.90, 64, 11.7},    {4096, 1024, 128, 0.75, 64, 3.66},
    {4096, 1024, 128, 0.90, 128, 3.60},   {4096, 1024, 512, 0.75, 64, 7.68},
};

TEST(Bound, comes_near_to_measured_kernels_of_row_groups) {
  double squares = 0;
  for (const Measured& line : row_groups) {
    const ProblemSummary problem = grouped(line.m, line.k, line.n, 1 - line.sparsity, line.group);
    const double ratio = bound_of(problem, "shfl_bw", {}, h200()).microseconds / line.microseconds;
    EXPECT_TRUE(is_within(error_of_bound(problem, formats::csr(), "shfl_bw", h200()), ratio))
        << line.m << "x" << line.k << "x" << line.n << " V=" << line.group << ": " << ratio;
    squares += std::log(ratio) * std::log(ratio);
  }
  EXPECT_LT(std::sqrt(squares / std::size(row_groups)), 0.09);
}

/// Lines of "Weights in the code", and of "32 times the columns" with the points named there.
struct MeasuredPoint {
  std::int64_t m, k, n;
  double sparsity;
  KnobValues point;
  double microseconds;
};

KnobValues ring(std::int64_t rows, std::int64_t threads, std::int64_t chunk, std::int64_t depth) {
  return {{"form", 1}, {"rows", rows}, {"threads", threads}, {"chunk", chunk}, {"depth", depth}};
}

TEST(Bound, stays_below_measured_kernels_of_unstructured_weights_and_within_reach) {
  const MeasuredPoint lines[] = {
      {128, 512, 25088, 0.9, ring(128, 128, 32, 4), 20.0},
      {256, 256, 25088, 0.9, ring(128, 128, 32, 4), 17.6},
      {256, 64, 100352, 0.9, ring(128, 128, 32, 4), 42.7},
      {64, 32, 401408, 0.9, ring(64, 128, 16, 4), 41.7},
      {2048, 512, 8192, 0.9, ring(64, 256, 32, 3), 163.7},
      {512, 512, 8192, 0.9, ring(64, 256, 16, 4), 38.7},
      {2048,
       512,
       8192,
       0.95,
       {{"form", 2}, {"lanes", 8}, {"columns", 8}, {"threads", 1024}, {"parts", 4}},
       117.6},
  };
  for (const MeasuredPoint& line : lines) {
    const ProblemSummary problem = unstructured(line.m, line.k, line.n, 1 - line.sparsity);
    const double ratio = bound_of(problem, "sparsert", line.point, h200()).microseconds / line.microseconds;
    EXPECT_TRUE(is_within(error_of_bound(problem, formats::csr(), "sparsert", h200()), ratio))
        << line.m << "x" << line.k << "x" << line.n << ": " << ratio;
  }
}

// Of docs/data/h200_oracle_f32.jsonl.xz: a warp waits for each entry of its row, the less the more share it.
TEST(Bound, of_a_row_a_warp_counts_the_wait_for_every_entry) {
  struct Line {
    std::int64_t m, k, n, groups, columns;
    double microseconds;
  };
  const Line lines[] = {{256, 1024, 196, 1, 1, 21.72}, {256, 1024, 196, 4, 1, 6.35},
                        {512, 256, 196, 1, 1, 8.47},   {512, 2048, 49, 1, 1, 26.38},
                        {512, 2048, 49, 4, 1, 6.47},   {2048, 512, 256, 4, 1, 19.05}};
  for (const Line& line : lines) {
    const ProblemSummary problem = unstructured(line.m, line.k, line.n, 0.1);
    const KnobValues point{{"form", 3},      {"lanes", 32},           {"rows", 1},
                           {"threads", 128}, {"groups", line.groups}, {"columns", line.columns}};
    const double ratio = bound_of(problem, "sparsert", point, h200()).microseconds / line.microseconds;
    EXPECT_TRUE(is_within(error_of_bound(problem, formats::csr(), "sparsert", h200()), ratio))
        << line.m << ": " << ratio;
  }
}

TEST(Bound, of_the_default_schedule_knows_its_rows) {
  struct Line {
    std::int64_t m, k, n;
    double sparsity, variation, microseconds;
  };
  // On an H200: rows of 4 warps, 64 columns of a warp (tests/bench/time_model_h200.json), and the table of
  // docs/measurements/default_schedules.md, whose rows vary as much as the others' are taken to.
  const Line lines[] = {
      {64, 256, 3136, 0.9, 0.27, 5.03},   {512, 128, 784, 0.9, 0.28, 5.85},
      {256, 1024, 196, 0.8, 0.19, 35.5},  {1024, 1024, 49, 0.95, 0.31, 13.25},
      {128, 128, 12544, 0.9, 0.27, 9.76}, {2048, 512, 256, 0.9, 0.27, 13.45},
      {256, 2304, 196, 0.9, 0.3, 50.6},   {1000, 2048, 49, 0.95, 0.3, 21.6},
      {2048, 512, 784, 0.98, 0.3, 40.7},  {64, 576, 3136, 0.5, 0.3, 26.8},
      {1024, 512, 3136, 0.9, 0.3, 56.4},
  };
  for (const Line& line : lines) {
    ProblemSummary problem = unstructured(line.m, line.k, line.n, 1 - line.sparsity);
    problem.row_mean = static_cast<double>(problem.stored) / static_cast<double>(line.m);
    problem.row_variation = line.variation;
    const double ratio = bound_of(problem, "default", {}, h200()).microseconds / line.microseconds;
    EXPECT_TRUE(is_within(error_of_bound(problem, formats::csr(), "default", h200()), ratio))
        << line.m << "x" << line.k << "x" << line.n << ": " << ratio;
  }
}

TEST(KnownErrors, are_of_what_was_compared_alone) {
  const ProblemSummary problem = unstructured(512, 512, 512, 0.1);
  EXPECT_TRUE(error_of_bound(problem, formats::csr(), "sparsert", target_named("sm_90")));
  EXPECT_FALSE(error_of_bound(problem, formats::csr(), "sparsert", target_named("sm_80")));
  EXPECT_FALSE(error_of_bound(problem, formats::ell(), "default", target_named("sm_90")));
  EXPECT_FALSE(error_of_bound(problem, formats::csr(), "shfl_bw", target_named("sm_90"))) << "no wgmma";
  EXPECT_FALSE(error_of_dense_bound(problem, target_named("sm_75")));
  EXPECT_TRUE(error_of_simulator("default", target_named("sm_90a")));
  EXPECT_FALSE(error_of_simulator("default", target_named("sm_86")));
  EXPECT_FALSE(error_of_simulator("shfl_bw", target_named("sm_90a")));
}

TEST(Bound, names_what_bounds_it) {
  const auto by = [](const ProblemSummary& problem, const char* recipe, const KnobValues& point) {
    return name_of(bound_of(problem, recipe, point, h200()).by);
  };
  EXPECT_EQ(by(grouped(5120, 5120, 4096, 0.5, 64), "shfl_bw", {}), "L2");
  EXPECT_EQ(by(grouped(256, 256, 64, 0.1, 64), "shfl_bw", {}), "launch");
  EXPECT_EQ(by(unstructured(64, 32, 401408, 0.1), "sparsert", ring(64, 128, 16, 4)), "memory");
  EXPECT_EQ(by(unstructured(2048, 512, 49, 0.1), "sparsert", {{"form", 1}, {"rows", 32}, {"threads", 32}}),
            "supply of code");
  EXPECT_EQ(by(unstructured(2048, 2048, 4096, 0.1), "sparsert", {{"form", 2}}), "shared memory");
}

// On an H200: 16.2, 42, 132 us by 32, 64 and 128 elements of a thread and stage.
TEST(Bound, knows_rows_that_are_copied_element_by_element) {
  const auto time = [&](std::int64_t n, std::int64_t tile_n, std::int64_t tile_k) {
    const KnobValues point{{"tile_m", 64}, {"tile_n", tile_n}, {"tile_k", tile_k}, {"instruction", 3},
                           {"warp_m", 64}, {"warp_n", tile_n}, {"stages", 4},      {"groups", 1},
                           {"blocks", 0},  {"producers", 0}};
    return bound_of(grouped(1024, 1024, n, 0.25, 64), "shfl_bw", point, h200()).microseconds;
  };
  EXPECT_GT(time(1031, 64, 64), 1.4 * time(1032, 64, 64));
  EXPECT_GT(time(1031, 256, 32), 1.4 * time(1031, 64, 64));
  EXPECT_GT(time(1031, 256, 64), 3 * time(1031, 256, 32));
}

TEST(Bound, grows_with_every_size) {
  const KnobValues tile{{"tile_n", 256}, {"stages", 3}, {"tile_k", 64}};
  const KnobValues code{{"form", 1}, {"rows", 32}, {"threads", 64}, {"groups", 4}};
  const KnobValues panel{{"form", 2}, {"lanes", 8}, {"columns", 8}, {"threads", 1024}, {"rows", 4}};
  const auto time = [&](std::int64_t m, std::int64_t k, std::int64_t n, double density, int which) {
    if (which == 0) return bound_of(grouped(m, k, n, density, 64), "shfl_bw", tile, h200()).microseconds;
    return bound_of(unstructured(m, k, n, density), "sparsert", which == 1 ? code : panel, h200())
        .microseconds;
  };
  for (int which = 0; which < 3; ++which) {
    double before[4] = {0, 0, 0, 0};
    for (std::int64_t size = 64; size <= 8192; size = size * 5 / 4) {
      const double now[4] = {time(size, 1024, 512, 0.25, which), time(1024, size, 512, 0.25, which),
                             time(1024, 1024, size / 2 * 2, 0.25, which),
                             time(1024, 1024, 512, static_cast<double>(size) / 10000, which)};
      for (int axis = 0; axis < 4; ++axis) {
        EXPECT_GE(now[axis], before[axis] * (1 - 1e-9))
            << "recipe " << which << ", axis " << axis << ", " << size;
        before[axis] = now[axis];
      }
    }
  }
}

ProblemSummary pairs(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t group, std::int64_t of) {
  ProblemSummary problem = grouped(m, k, n, 2 / static_cast<double>(of), group);
  add_format(problem, group > 0 ? Format{"v_n_m", {{"V", group}, {"M", of}}} : Format{"n_m", {}});
  return problem;
}

TEST(Bound, comes_near_to_measured_kernels_of_pairs) {
  struct Line {
    std::int64_t m, k, n, group, of;
    KnobValues point;
    double microseconds;
  };
  // On an H200.
  const Line lines[] = {
      {5120, 5120, 4096, 128, 16, {}, 72.4},
      {5120, 5120, 4096, 64, 16, {}, 104.9},
      {5120, 5120, 4096, 128, 8, {}, 134.0},
      {5120, 5120, 4096, 64, 8, {}, 203.3},
      {13824, 5120, 2048, 128, 16, {}, 102.3},
      {13824, 5120, 2048, 64, 16, {}, 149.8},
      {13824, 5120, 2048, 128, 8, {}, 189.6},
      {13824, 5120, 2048, 64, 8, {}, 280.3},
      {5120, 5120, 4096, 0, 4, {}, 204.1},
      {13824, 5120, 2048, 0, 4, {}, 298.4},
      {5120, 5120, 4096, 0, 4, {{"tile_m", 256}}, 217.3},
      {13824, 5120, 2048, 0, 4, {{"tile_m", 256}}, 302.3},
      {5120, 5120, 4096, 0, 4, {{"tile_m", 128}}, 230.9},
      {5120, 5120, 4096, 0, 4, {{"tile_m", 64}}, 279.3},
      {5120, 5120, 4096, 0, 4, {{"tile_m", 256}, {"stages", 5}}, 206.9},
      {5120, 5120, 4096, 0, 4, {{"tile_m", 256}, {"tile_k", 128}}, 195.3},
      {5120, 5120, 4096, 0, 4, {{"tile_m", 128}, {"tile_k", 128}}, 281.6},
      {5120, 5120, 4096, 128, 8, {{"tile_k", 128}}, 155.8},
      {5120, 5120, 4096, 64, 8, {{"tile_n", 256}}, 222.4},
      {5120, 5120, 4096, 128, 16, {{"tile_n", 128}}, 90.3},
      {5120, 5120, 4096, 128, 16, {{"stages", 5}}, 77.0},
  };
  for (const Line& line : lines) {
    const ProblemSummary problem = pairs(line.m, line.k, line.n, line.group, line.of);
    const double ratio = bound_of(problem, "v_n_m", line.point, h200()).microseconds / line.microseconds;
    EXPECT_TRUE(is_within(error_of_bound(problem, formats::csr(), "v_n_m", h200()), ratio))
        << line.m << ", " << line.group << ":2:" << line.of << ", " << line.microseconds << ": " << ratio;
  }
}

TEST(Bound, ranks_measured_kernels_of_blocks) {
  struct Line {
    std::int64_t m, k, n;
    KnobValues point;
    double microseconds;
  };
  const KnobValues warpgroup{{"tile_m", 64},  {"tile_n", 256}, {"tile_k", 64}, {"warp_m", 64},
                             {"warp_n", 256}, {"stages", 2},   {"groups", 1}};
  const auto of_warps = [](std::int64_t groups) -> KnobValues {
    return {{"tile_m", 64}, {"tile_n", 128}, {"tile_k", 64},    {"warp_m", 32},
            {"warp_n", 32}, {"stages", 3},   {"groups", groups}};
  };
  const auto of_few_rows = [](std::int64_t groups) -> KnobValues {
    return {{"tile_m", 16}, {"tile_n", 128}, {"tile_k", 64},    {"warp_m", 16},
            {"warp_n", 32}, {"stages", 3},   {"groups", groups}};
  };
  // On an H200, 90 % zeros.
  const Line lines[] = {
      {2048, 512, 4096, warpgroup, 44.3},    {512, 2048, 4096, warpgroup, 64.1},
      {512, 512, 4096, warpgroup, 15.7},     {2048, 512, 1024, warpgroup, 20.2},
      {512, 2048, 1024, of_warps(4), 22.9},  {512, 512, 1024, of_warps(2), 8.4},
      {256, 2304, 4096, of_warps(2), 41.9},  {256, 2304, 1024, of_few_rows(4), 20.2},
      {512, 2048, 128, of_few_rows(8), 7.7}, {2048, 512, 128, of_few_rows(2), 7.1},
  };
  for (const Line& line : lines) {
    ProblemSummary problem = grouped(line.m, line.k, line.n, 0.1, 0);
    add_format(problem, Format{"hb_ell", {{"every", 8}}});
    const double ratio = bound_of(problem, "hb_ell", line.point, h200()).microseconds / line.microseconds;
    EXPECT_TRUE(is_within(error_of_bound(problem, formats::csr(), "hb_ell", h200()), ratio))
        << line.m << "x" << line.k << "x" << line.n << ": " << ratio;
  }
}

TEST(Bound, of_pairs_gathers_twice_what_a_row_keeps_and_multiplies_half_of_it) {
  const KnobValues point{{"tile_m", 128}, {"tile_n", 256}, {"tile_k", 64}, {"stages", 3}};
  const auto part = [&](const ProblemSummary& problem, const char* recipe, Resource resource) {
    return bound_of(problem, recipe, point, h200()).part(resource);
  };
  // 128:2:8 has the gathers of groups that keep half of the columns.
  const ProblemSummary problem = pairs(5120, 5120, 4096, 128, 8);
  const ProblemSummary half = grouped(5120, 5120, 4096, 0.5, 128);
  EXPECT_EQ(problem.gathered_columns(), 2560);
  EXPECT_EQ(2 * part(problem, "v_n_m", Resource::tensor), part(half, "shfl_bw", Resource::tensor));
  EXPECT_LT(part(problem, "v_n_m", Resource::l2), part(half, "shfl_bw", Resource::l2));
  EXPECT_GT(part(problem, "v_n_m", Resource::l2), 0.7 * part(half, "shfl_bw", Resource::l2));
  // Of 2:4 every tile reads all of the dense operand.
  EXPECT_EQ(pairs(5120, 5120, 4096, 0, 4).gathered_columns(), 5120);
  double before = 0;
  for (const std::int64_t of : {100, 40, 20, 16, 10, 8, 4}) {
    const double now = bound_of(pairs(5120, 5120, 4096, 64, of), "v_n_m", {}, h200()).microseconds;
    EXPECT_GT(now, before) << of;
    before = now;
  }
}

TEST(Bound, is_the_roofline_for_recipes_that_it_does_not_know) {
  const ProblemSummary problem = unstructured(1024, 1024, 512, 0.1);
  const Bound bound = bound_of(problem, "schedule", {{"tile_m", 4}}, h200());
  EXPECT_GT(bound.microseconds, 1e6 * problem.operations() / 66.9e12);
  const Target& cpu = target_named("cpu");
  EXPECT_EQ(bound_of(problem, "sparsert", {}, cpu).microseconds,
            bound_of(problem, "schedule", {}, cpu).microseconds);
  EXPECT_EQ(bound_of(problem, "cpu_rows", {}, h200()).microseconds,
            bound_of(problem, "schedule", {}, h200()).microseconds);
}

TEST(Bound, of_the_cpu_knows_chains_copies_and_walks) {
  const Target& cpu = target_named("cpu");
  const auto time = [&](std::int64_t n, const KnobValues& point) {
    return bound_of(unstructured(1024, 1024, n, 0.1), "cpu_rows", point, cpu).microseconds;
  };
  EXPECT_LT(time(8, {{"panel", 8}, {"groups", 4}}), time(8, {{"panel", 8}, {"groups", 1}}));
  EXPECT_LT(time(512, {{"panel", 64}}), time(512, {{"panel", 16}}));
  EXPECT_LT(time(512, {{"panel", 64}}), time(1024, {{"panel", 64}}));
}

TEST(Bound, is_larger_on_smaller_devices) {
  const ProblemSummary problem = grouped(2048, 2048, 2048, 0.25, 64);
  double before = 0;
  for (const char* name : {"sm_90a", "sm_80", "sm_75"}) {
    const double now =
        bound_of(problem, "shfl_bw", {{"tile_n", 128}, {"stages", 2}}, target_named(name)).microseconds;
    EXPECT_GT(now, before) << name;
    before = now;
  }
}

TEST(Summary, counts_what_the_weights_hold) {
  WeightMatrix weights;
  weights.shape = {3, 8};
  weights.rows = 3;
  weights.columns = 8;
  weights.row_begin = {0, 4, 6, 6};
  weights.column = {0, 1, 2, 7, 3, 4};
  weights.values = Array(DType::f32, {6});
  const ProblemSummary product = summary_of(spmm_algorithm(3, 8, 5, DType::f32), weights, formats::csr());
  EXPECT_EQ(product.m, 3);
  EXPECT_EQ(product.k, 8);
  EXPECT_EQ(product.n, 5);
  EXPECT_EQ(product.stored, 6);
  EXPECT_EQ(product.dense_elements, 40);
  EXPECT_FALSE(product.convolution);
  EXPECT_DOUBLE_EQ(product.density(), 0.25);
  EXPECT_DOUBLE_EQ(product.row_mean, 2);
  EXPECT_NEAR(product.row_variation, std::sqrt(8.0 / 3) / 2, 1e-12);
  EXPECT_EQ(product.kept_columns(), 2);
  const ProblemSummary groups = summary_of(spmm_algorithm(3, 8, Extent::any("N"), DType::f32), weights,
                                           formats::shfl_bw({.rows = 64}), 100);
  EXPECT_EQ(groups.group_rows, 64);
  EXPECT_EQ(groups.n, 100);
  Convolution image;
  image.channels = 2;
  image.filters = 3;
  image.filter = {2, 2};
  image.image = {6, 5};
  const ProblemSummary convolution =
      summary_of(convolution_algorithm(image, DType::f32), weights, formats::csr());
  EXPECT_TRUE(convolution.convolution);
  EXPECT_EQ(convolution.n, 20);
  EXPECT_EQ(convolution.dense_elements, 60);
}

/// One of ten weights of a 3x3 convolution of 32 to 32 channels.
ProblemSummary images(std::int64_t side, std::int64_t batch, ImageLayout layout) {
  const Convolution of{.batch = batch,
                       .channels = 32,
                       .filters = 32,
                       .image = {side, side},
                       .filter = {3, 3},
                       .pad = {1, 1},
                       .layout = layout};
  const WeightMatrix weights =
      synthetic_layer({.rows = 32, .columns = 288, .sparsity = 0.9, .dtype = DType::f32});
  return summary_of(convolution_algorithm(of, DType::f32), weights, formats::csr());
}

double on_cpu(const ProblemSummary& problem, const char* recipe, const KnobValues& point) {
  return bound_of(problem, recipe, point, target_named("x86-64-v4")).microseconds;
}

TEST(TimesOnACpu, AVectorThatIsNotFullTakesAsLongAsAFullOne) {
  const ProblemSummary narrow = images(8, 8, ImageLayout::nchw), wide = images(16, 2, ImageLayout::nchw);
  ASSERT_EQ(narrow.n, wide.n);
  EXPECT_GT(on_cpu(narrow, "cpu_code", {{"rows", 16}, {"columns", 16}, {"lines", 8}, {"lanes", 16}}),
            1.5 * on_cpu(wide, "cpu_code", {{"rows", 16}, {"columns", 16}, {"lines", 16}}));
  const KnobValues lines{{"panel", 16}, {"rows", 4}, {"groups", 1}, {"copy", 3}};
  EXPECT_GT(on_cpu(narrow, "cpu_rows", lines), 1.5 * on_cpu(wide, "cpu_rows", lines));
}

TEST(TimesOnACpu, WhatIsCopiedAtATimeStaysInTheSecondCache) {
  const ProblemSummary problem = unstructured(384, 2048, 784, 0.1);
  const auto time = [&](std::int64_t columns) {
    return on_cpu(problem, "cpu_code", {{"rows", 30}, {"columns", columns}});
  };
  EXPECT_GT(time(256), 1.2 * time(64));
}

TEST(TimesOnACpu, BlocksOfColumnsSaveWayToThePanelAndCostSums) {
  const auto time = [&](double density, std::int64_t columns) {
    ProblemSummary problem = unstructured(4096, 4096, 128, density);
    add_format(problem, formats::column_blocks(columns));
    return on_cpu(problem, "cpu_blocks", {{"panel", 128}, {"copy", 2}});
  };
  EXPECT_GT(time(0.3, 1024), 1.1 * time(0.3, 64));
  EXPECT_GT(time(0.01, 16), 1.1 * time(0.01, 256));
  ProblemSummary list = unstructured(4096, 4096, 1, 0.3), narrow = list;
  add_format(narrow, formats::csr({.index = 16}));
  EXPECT_GT(on_cpu(list, "cpu_rows", {{"panel", 1}, {"groups", 8}}),
            1.05 * on_cpu(narrow, "cpu_rows", {{"panel", 1}, {"groups", 8}}));
}

TEST(TimesOnACpu, FewerLinesAtATimeReadTheCodeMoreOften) {
  const ProblemSummary problem = images(16, 2, ImageLayout::nchw);
  const auto time = [&](std::int64_t lines) {
    return on_cpu(problem, "cpu_code", {{"rows", 16}, {"columns", 16}, {"lines", lines}});
  };
  EXPECT_GT(time(1), time(16));
}

TEST(TimesOnACpu, ResultsThatLieApartTakeLonger) {
  const KnobValues point{{"panel", 16}, {"rows", 4}, {"groups", 1}, {"copy", 3}};
  // Of many narrow images vectors are of images, which lie one behind the other in nchw.
  EXPECT_GT(on_cpu(images(4, 16, ImageLayout::nchw), "cpu_rows", point),
            on_cpu(images(4, 16, ImageLayout::chwn), "cpu_rows", point));
}

}  // namespace
}  // namespace weft
