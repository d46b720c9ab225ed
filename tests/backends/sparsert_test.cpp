// The recipe sparsert as PTX in the simulator: real matrices, all counts of groups, values that must not be
// read.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/limits/balance.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <numeric>

namespace weft {
namespace {

using SharedWeights = std::shared_ptr<const SparseTensor>;

SharedWeights in_csr(const WeightMatrix& matrix) {
  return std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
}

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Kernel compiled(const Algorithm& algorithm, const SharedWeights& weights, const SparseRtKnobs& knobs) {
  KernelOptions options;
  options.assemble = false;
  return compile(sparsert(algorithm, weights, target_named("sm_80"), knobs), options);
}

void expect_right(const WeightMatrix& matrix, std::int64_t columns, const SparseRtKnobs& knobs) {
  SCOPED_TRACE(matrix.origin + ", N = " + std::to_string(columns));
  const Kernel kernel =
      compiled(spmm_algorithm(matrix.rows, matrix.columns, columns, DType::f32), in_csr(matrix), knobs);
  Array b = random_array(DType::f32, {matrix.columns, columns}, 7, RandomValues::uniform);
  Array c(DType::f32, {matrix.rows, columns});
  const Verification verification =
      verify(kernel, Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text() << "\n" << kernel.schedule().cpp();
}

TEST(SparseRt, RealMatrices) {
  if (!std::filesystem::is_directory(WEFT_DATA_DIR)) {
    GTEST_SKIP() << "there is no folder " WEFT_DATA_DIR;
  }
  constexpr std::int64_t most_entries = 5'000;  // compiled in a second
  constexpr std::array<std::int64_t, 8> widths{1, 2, 7, 31, 33, 49, 63, 65};
  std::size_t count = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(WEFT_DATA_DIR)) {
    if (file.path().extension() != ".smtx") continue;
    const WeightMatrix pattern = read(file.path().string());
    if (pattern.stored() > most_entries) continue;
    const WeightMatrix matrix = with_random_values(pattern, DType::f32, 5);
    expect_right(matrix, widths[count % widths.size()], {});
    expect_right(matrix, widths[(count + 3) % widths.size()], {.form = SparseRtForm::row_per_warp});
    expect_right(matrix, widths[(count + 5) % widths.size()], {.form = SparseRtForm::pieces});
    ++count;
  }
  std::cout << count << " matrices\n";
  EXPECT_GT(count, 10U);
}

TEST(SparseRt, RowsInTurnFromColumnsInRegisters) {
  struct Case {
    std::int64_t rows, inner, columns;
    double sparsity;
  };
  // Rows and columns that fill neither the last turn nor the last warp.
  for (const Case& one : {Case{260, 100, 16'901, 0.95}, Case{121, 60, 17'000, 0.9}}) {
    const WeightMatrix matrix =
        synthetic_layer({.rows = one.rows, .columns = one.inner, .sparsity = one.sparsity, .seed = 4});
    const Schedule chosen = sparsert(spmm_algorithm(one.rows, one.inner, Extent(one.columns), DType::f32),
                                     in_csr(matrix), target_named("sm_80"));
    EXPECT_NE(chosen.cpp().find(".unroll(m.outer)"), std::string::npos) << chosen.cpp();
    expect_right(matrix, one.columns, {});
  }
}

TEST(SparseRt, LargeResultsStream) {
  const WeightMatrix matrix = synthetic_layer({.rows = 64, .columns = 64, .sparsity = 0.95, .seed = 4});
  const auto streams = [&](std::int64_t columns) {
    KernelOptions options;
    options.assemble = false;
    const Kernel kernel =
        compile(sparsert(spmm_algorithm(64, 64, columns, DType::f32), in_csr(matrix), target_named("sm_80")),
                options);
    const bool in_ptx = kernel.ptx().find("st.global.cs.") != std::string::npos;
    EXPECT_EQ(in_ptx, kernel.cuda_source().find("__stcs(") != std::string::npos);
    return in_ptx;
  };
  EXPECT_FALSE(streams(4'096));
  EXPECT_TRUE(streams(65'536));
}

TEST(SparseRt, EveryCountOfGroups) {
  const WeightMatrix matrix = synthetic_layer({.rows = 10, .columns = 17, .sparsity = 0.6, .seed = 8});
  for (std::int64_t count = 1; count <= 17; ++count)
    expect_right(matrix, 33, {.form = SparseRtForm::baked, .rows = 4, .threads = 32, .groups = count});
}

TEST(SparseRt, ManyEntriesOfFewColumnsAreReadInPieces) {
  const auto has = [](std::int64_t entries, std::int64_t of_first, const char* step) {
    constexpr std::int64_t rows = 1024, columns = 1024;
    Array dense(DType::f32, {rows, columns});
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < (row == 0 ? of_first : entries); ++column)
        dense.set(row * columns + column, 1);
    }
    const Schedule chosen = sparsert(spmm_algorithm(rows, columns, Extent(49), DType::f32),
                                     in_csr(from_dense(dense, "rows")), target_named("sm_90a"));
    return chosen.cpp().find(step) != std::string::npos;
  };
  EXPECT_TRUE(has(100, 100, ".pool("));
  EXPECT_TRUE(has(100, 1000, ".pool(")) << "however long a row is";
  EXPECT_TRUE(has(10, 10, ".bake_values("));
}

TEST(SparseRt, RowsDealtByTheirEntries) {
  std::vector<std::int64_t> row, column;
  for (std::int64_t r = 0; r < 24; ++r) {
    // The first rows are full, as in the first channels of a trained layer.
    for (std::int64_t c = 0; c < (r < 6 ? 20 : 1); ++c) {
      row.push_back(r);
      column.push_back((c * 3 + r) % 20);
    }
  }
  const auto values = random_array(DType::f32, {static_cast<std::int64_t>(row.size())}, 3);
  const WeightMatrix matrix = from_coordinates(24, 20, row, column, values, "by hand");
  const auto blocks_of = [&](SparseRtOrder order) {
    const SparseRtKnobs knobs{.form = SparseRtForm::baked, .rows = 8, .order = order};
    expect_right(matrix, 40, knobs);
    return balance_of(
               sparsert(spmm_algorithm(24, 20, 40, DType::f32), in_csr(matrix), target_named("sm_80"), knobs))
        ->of_blocks;
  };
  EXPECT_GT(blocks_of(SparseRtOrder::given), 2);
  EXPECT_LT(blocks_of(SparseRtOrder::dealt), 1.1);
  EXPECT_LT(blocks_of(SparseRtOrder::chosen), 1.1);
}

TEST(SparseRt, ChunksThroughSharedMemory) {
  for (const std::int64_t inner : {17, 64}) {
    const WeightMatrix matrix = synthetic_layer({.rows = 40, .columns = inner, .sparsity = 0.8, .seed = 8});
    for (const std::int64_t columns : {33, 64, 301}) {
      expect_right(matrix, columns, {.form = SparseRtForm::baked, .chunk = 16});
      expect_right(matrix, columns,
                   {.form = SparseRtForm::baked, .rows = 16, .threads = 64, .chunk = 5, .depth = 2});
    }
  }
  expect_right(synthetic_layer({.rows = 4, .columns = 20, .sparsity = 1, .seed = 8}), 33,
               {.form = SparseRtForm::baked, .chunk = 16});
}

TEST(SparseRt, EntriesInMemory) {
  const WeightMatrix matrix = synthetic_layer({.rows = 37, .columns = 53, .sparsity = 0.7, .seed = 8});
  const WeightMatrix empty = from_coordinates(3, 4, {}, {}, Array(DType::f32, {0}), "empty");
  std::size_t turn = 0;
  constexpr std::array<std::int64_t, 7> widths{1, 31, 33, 49, 64, 100, 260};
  for (const std::int64_t lanes : {4, 8, 16, 32}) {
    for (const std::int64_t columns : {1, 2, 4, 8}) {
      SparseRtKnobs knobs{.threads = 64, .columns = columns, .lanes = lanes};
      knobs.form = SparseRtForm::row_per_warp;
      knobs.groups = columns == 2 ? 2 : 1;
      knobs.places = columns == 1 ? 16 : 0;
      expect_right(matrix, widths[turn++ % widths.size()], knobs);
      if (columns % 4 != 0) continue;
      knobs = {.form = SparseRtForm::streaming, .threads = 64, .columns = columns, .lanes = lanes};
      expect_right(matrix, widths[turn++ % widths.size()], knobs);
      knobs.panel_rows = 20;
      knobs.rows = 2;
      expect_right(matrix, widths[turn++ % widths.size()], knobs);
      expect_right(empty, 33, knobs);
    }
  }
}

TEST(SparseRt, PiecesOfRows) {
  const WeightMatrix matrix = synthetic_layer({.rows = 37, .columns = 153, .sparsity = 0.6, .seed = 8});
  const WeightMatrix uneven = from_coordinates(9, 140, std::vector<std::int64_t>(140, 4), counted(140),
                                               random_array(DType::f32, {140}, 5), "one row");
  const WeightMatrix empty = from_coordinates(3, 4, {}, {}, Array(DType::f32, {0}), "empty");
  std::size_t turn = 0;
  constexpr std::array<std::int64_t, 7> widths{1, 31, 33, 49, 64, 100, 260};
  for (const std::int64_t places : {1, 4, 16}) {
    for (const std::int64_t of_lane : {1, 2, 4}) {
      for (const std::int64_t blocks_of_rows : {0, 5}) {
        const SparseRtKnobs knobs{.form = SparseRtForm::pieces,
                                  .threads = of_lane == 2 ? 0 : 64,
                                  .columns = of_lane,
                                  .places = places,
                                  .parts = places > 1 ? blocks_of_rows : 0};
        for (const WeightMatrix* each : {&matrix, &uneven, &empty})
          expect_right(*each, widths[turn++ % widths.size()], knobs);
      }
    }
  }
}

TEST(SparseRt, RowsLongerThanABlockOfPiecesAreRefused) {
  const WeightMatrix uneven =
      from_coordinates(1, 30'000, std::vector<std::int64_t>(30'000, 0), counted(30'000),
                       random_array(DType::f32, {30'000}, 5), "one row");
  EXPECT_THROW(
      compiled(spmm_algorithm(1, 30'000, 49, DType::f32), in_csr(uneven), {.form = SparseRtForm::pieces}),
      InfeasibleError);
}

/// Columns of the weights without an entry: what lies there in B is nobody's business.
TEST(SparseRt, WhatIsPrunedIsNotUsed) {
  const WeightMatrix matrix = from_coordinates(6, 8, {0, 0, 1, 3, 5, 5}, {1, 4, 4, 6, 1, 6},
                                               random_array(DType::f32, {6}, 3), "by hand");
  constexpr std::int64_t columns = 40;
  Array b = random_array(DType::f32, {8, columns}, 7);
  for (const std::int64_t pruned : {0, 2, 3, 5, 7}) {
    for (std::int64_t n = 0; n < columns; ++n)
      b.set(pruned * columns + n, n % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan(""));
  }
  for (const SparseRtKnobs& knobs :
       {SparseRtKnobs{.rows = 4, .groups = 1}, SparseRtKnobs{.rows = 4, .groups = 3},
        SparseRtKnobs{.rows = 4, .chunk = 4}, SparseRtKnobs{.form = SparseRtForm::streaming, .threads = 64},
        SparseRtKnobs{.form = SparseRtForm::streaming, .threads = 64, .panel_rows = 3},
        SparseRtKnobs{.form = SparseRtForm::row_per_warp, .threads = 64},
        SparseRtKnobs{.form = SparseRtForm::pieces, .threads = 64, .places = 4}}) {
    const Kernel kernel = compiled(spmm_algorithm(6, 8, columns, DType::f32), in_csr(matrix), knobs);
    Array c(DType::f32, {6, columns});
    for (std::int64_t i = 0; i < c.size(); ++i) c.set(i, std::nan(""));
    kernel(Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
    for (std::int64_t i = 0; i < c.size(); ++i)
      ASSERT_TRUE(std::isfinite(c.get(i))) << kernel.schedule().cpp();
    for (const std::int64_t empty : {2, 4}) {
      for (std::int64_t n = 0; n < columns; ++n) EXPECT_EQ(c.get(empty * columns + n), 0);
    }
  }
}

/// Pixels beyond the border are nobody's; those at the border are read for it, and must not count.
TEST(SparseRt, TheBorderOfAnImageDoesNotCount) {
  Convolution c;
  c.channels = 1;
  c.filters = 2;
  c.image = {5, 6};
  c.filter = {3, 3};
  c.pad = {1, 1};
  // Both filters look at the pixel above and left alone.
  WeightMatrix matrix = from_coordinates(2, 9, {0, 1}, {0, 0}, random_array(DType::f32, {2}, 3), "by hand");
  matrix.shape = {2, 1, 3, 3};
  Array b = random_array(DType::f32, {1, 1, 5, 6}, 7);
  b.set(0, std::numeric_limits<double>::infinity());
  const Kernel kernel = compiled(convolution_algorithm(c, DType::f32), in_csr(matrix), {});
  Array out(DType::f32, {1, 2, 5, 6});
  kernel(Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &out}}, {}});
  for (std::int64_t f = 0; f < 2; ++f) {
    for (std::int64_t p = 0; p < 5; ++p) {
      for (std::int64_t q = 0; q < 6; ++q) {
        const double value = out.get((f * 5 + p) * 6 + q);
        if (p == 0 || q == 0) {
          EXPECT_EQ(value, 0) << p << ", " << q;
        } else {
          EXPECT_EQ(std::isinf(value), p == 1 && q == 1) << p << ", " << q;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
