// Every matrix at hand, in every format and by every recipe of a CPU, at odd widths: within 1e-6 of f64.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/reference.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/cpu/cpu_blocks.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/cpu/cpu_groups.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <vector>

namespace weft {
namespace {

constexpr std::array<std::int64_t, 17> widths{1,  2,  3,  7,  8,   9,   15,  17, 31,
                                              33, 49, 63, 65, 127, 129, 196, 256};
constexpr double allowed = 1e-6;

Array first_columns(const Array& from, std::int64_t n) {
  const std::int64_t rows = from.shape()[0];
  const std::int64_t width = from.shape()[1];
  Array result(from.dtype(), {rows, n});
  const auto to = result.as<float>();
  for (std::int64_t r = 0; r < rows; ++r)
    std::ranges::copy_n(from.as<float>().begin() + r * width, n, to.begin() + r * n);
  return result;
}

/// Norm of the difference over norm of the reference, of the first columns; infinite where an element was not
/// written.
double error_of(const Array& c, const Array& expected) {
  const std::int64_t n = c.shape()[1];
  const std::int64_t width = expected.shape()[1];
  const auto found = c.as<float>();
  const auto right = expected.as<double>();
  double difference = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < c.size(); ++i) {
    const double x = found[static_cast<std::size_t>(i)];
    const double y = right[static_cast<std::size_t>(i / n * width + i % n)];
    if (!std::isfinite(x)) return std::numeric_limits<double>::infinity();
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

void check_matrix(const WeightMatrix& given, int threads) {
  const WeightMatrix matrix =
      given.pattern_only ? with_random_values(given, DType::f32, 5) : converted(given, DType::f32);
  const std::int64_t largest = widths.back();
  Array b = random_array(DType::f32, {matrix.columns, largest}, 7, RandomValues::uniform);
  Array wide(DType::f32, {matrix.rows, largest});
  const auto csr = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  const Algorithm algorithm = spmm_algorithm(matrix.rows, matrix.columns, Extent::any("N"), DType::f32);
  const Reference expected = reference(algorithm, csr.get(), {{{"B", &b}, {"C", &wide}}, {}});
  std::vector<Array> narrow;
  for (const std::int64_t n : widths) narrow.push_back(first_columns(b, n));
  const Target& cpu = target_named("cpu");
  const auto packed = [&](const Format& format) {
    return std::make_shared<const SparseTensor>(pack(matrix, format));
  };
  std::vector<Schedule> schedules{cpu_rows(algorithm, csr, cpu), cpu_code(algorithm, csr, cpu),
                                  cpu_rows(algorithm, packed(formats::csr({.index = 16})), cpu),
                                  cpu_groups(algorithm, packed(formats::column_vectors(4)), cpu),
                                  cpu_blocks(algorithm, packed(formats::column_blocks(64)), cpu)};
  for (const Format& format : {formats::csr(), formats::csc(), formats::coo(), formats::ell(),
                               formats::bcsr(8), formats::blocked_ell(4), formats::vector_wise({.rows = 8}),
                               formats::shfl_bw({.rows = 16, .places = 16})})
    schedules.push_back(default_schedule(algorithm, packed(format), cpu));
  for (const Schedule& schedule : schedules) {
    KernelOptions options;
    options.threads = threads;
    const Kernel kernel = compile(schedule, options);
    for (Array& columns : narrow) {
      const std::int64_t n = columns.shape()[1];
      Array c(DType::f32, {matrix.rows, n});
      const BoundKernel bound = kernel.bind(Device::cpu(), {{{"B", &columns}, {"C", &c}}, {}});
      bound.poison_output();
      bound.launch(nullptr);
      bound.download("C", c);
      EXPECT_LE(error_of(c, expected.value), allowed)
          << matrix.origin << ", N = " << n << ", " << schedule.cpp();
    }
  }
}

TEST(Matrices, GeneratedOnes) {
  struct Shape {
    std::int64_t rows, columns;
    double sparsity;
  };
  for (const Shape& shape :
       {Shape{1, 1, 0.0}, Shape{1, 147, 0.9}, Shape{1000, 64, 0.95}, Shape{64, 147, 0.9}, Shape{33, 7, 0.5},
        Shape{129, 65, 0.99}, Shape{40, 40, 1.0}, Shape{257, 3, 0.3}}) {
    check_matrix(synthetic_layer(
                     {.rows = shape.rows, .columns = shape.columns, .sparsity = shape.sparsity, .seed = 11}),
                 2);
  }
}

TEST(Matrices, EmptyRowsAndColumns) {
  Array dense(DType::f32, {9, 11});
  dense.set(2 * 11 + 3, 1.5);
  dense.set(2 * 11 + 10, -2);
  dense.set(7 * 11 + 3, 0.25);
  check_matrix(from_dense(dense, "rows 2 and 7 only"), 1);
  check_matrix(from_dense(Array(DType::f32, {5, 6}), "nothing stored"), 1);
}

TEST(Matrices, RealOnes) {
  const std::filesystem::path folder(WEFT_DATA_DIR);
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "[SKIP] no folder of real matrices beside the checkout";
  }
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().string();
    const bool wanted = entry.path().extension() == ".smtx" ||
                        name.find("contraction_1x1_") != std::string::npos ||
                        name.find("filter_bg") != std::string::npos;
    if (!wanted || name.find("_bias") != std::string::npos) continue;
    check_matrix(read(name, {}), 2);
    ++count;
  }
  EXPECT_GT(count, 0);
  std::cout << count << " matrices x 8 formats and 3 recipes x " << widths.size() << " widths\n";
}

}  // namespace
}  // namespace weft
