// Two of four columns, in all rows and in blocks of rows: what pruning keeps, against every other choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <numeric>
#include <set>

#include "formats/generated_matrices.h"
#include "support/sanitizers.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Format v_n_m(std::int64_t v, std::int64_t m) {
  return {"v_n_m", {{"V", v}, {"M", m}}};
}
const Format two_four{"n_m", {}};

/// Independent numbers: no column is better than another.
WeightMatrix unlike(std::int64_t rows, std::int64_t columns) {
  return synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0});
}

/// What is kept of some scores in four columns, two a row: `score[row][column]`, brute force by definition.
double score_of(const std::vector<std::vector<double>>& score, const std::vector<std::size_t>& columns) {
  double sum = 0;
  for (const std::vector<double>& row : score) {
    std::vector<double> of_row;
    for (const std::size_t column : columns) of_row.push_back(row[column]);
    std::ranges::sort(of_row, std::greater<>());
    for (std::size_t i = 0; i < std::min<std::size_t>(2, of_row.size()); ++i) sum += of_row[i];
  }
  return sum;
}

/// The most that any four columns keep.
double best_score(const std::vector<std::vector<double>>& score) {
  const std::size_t count = score.front().size();
  if (count <= 4) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return score_of(score, all);
  }
  double best = 0;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      for (std::size_t c = b + 1; c < count; ++c) {
        for (std::size_t d = c + 1; d < count; ++d) best = std::max(best, score_of(score, {a, b, c, d}));
      }
    }
  }
  return best;
}

/// The absolute values of a block, those at the edge being smaller.
std::vector<std::vector<double>> block_of(const Array& dense, std::int64_t row, std::int64_t rows,
                                          std::int64_t column, std::int64_t columns) {
  const std::int64_t across = dense.shape()[1];
  std::vector<std::vector<double>> result;
  for (std::int64_t r = row; r < std::min(row + rows, dense.shape()[0]); ++r) {
    result.emplace_back();
    for (std::int64_t c = column; c < std::min(column + columns, across); ++c)
      result.back().push_back(std::abs(dense.get(r * across + c)));
  }
  return result;
}

/// The pattern holds, nothing that fits was left out, and of each block as much was kept as could be:
/// `least` is the share of that which is demanded.
void expect_two_of_four(const WeightMatrix& weights, const Pruning& found, std::int64_t v, std::int64_t m,
                        double least) {
  const Array before = to_dense(weights);
  const Array after = to_dense(pruned(weights, found));
  double all = 0;
  double all_best = 0;
  for (std::int64_t row = 0; row < weights.rows; row += v) {
    for (std::int64_t column = 0; column < weights.columns; column += m) {
      SCOPED_TRACE("block at row " + std::to_string(row) + ", column " + std::to_string(column));
      std::set<std::size_t> used;
      double kept = 0;
      for (const std::vector<double>& values : block_of(after, row, v, column, m)) {
        int in_row = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (values[i] == 0) continue;
          used.insert(i);
          kept += values[i];
          ++in_row;
        }
        EXPECT_EQ(in_row, std::min<std::int64_t>(2, weights.columns - column));
      }
      EXPECT_LE(used.size(), 4U);
      const double best = best_score(block_of(before, row, v, column, m));
      EXPECT_LE(kept, best * (1 + 1e-6));
      EXPECT_GE(kept, (least == 1 ? 1 - 1e-6 : 0) * best);
      all += kept;
      all_best += best;
    }
  }
  EXPECT_GE(all, least * all_best);
}

TEST(PruneTwoOfFour, TwoOfFourKeepsTheBestPossible) {
  // 37 rows and 46 columns: no multiple of any block.
  const WeightMatrix weights = trained_like(37, 46, 12);
  expect_two_of_four(weights, choose_weights(weights, two_four, {}), 1, 4, 1);
  for (const std::int64_t v : {1, 8, 16, 64}) {
    for (const std::int64_t m : {4, 8, 10, 16, 20}) {
      SCOPED_TRACE("V = " + std::to_string(v) + ", M = " + std::to_string(m));
      expect_two_of_four(weights, choose_weights(weights, v_n_m(v, m), {}), v, m, 1);
    }
  }
}

TEST(PruneTwoOfFour, TwoOfFourOfWideBlocksKeepsNearlyTheBestPossible) {
  for (const std::int64_t m : {32, 40}) {
    SCOPED_TRACE("M = " + std::to_string(m));
    for (const WeightMatrix& weights : {trained_like(48, 93, 3), unlike(48, 93)})
      expect_two_of_four(weights, choose_weights(weights, v_n_m(16, m), {}), 16, m, 0.99);
  }
}

TEST(PruneTwoOfFour, TwoOfFourIsTheSameForAllBlockHeightsOfFourColumns) {
  const WeightMatrix weights = trained_like(100, 46, 12);
  EXPECT_EQ(choose_weights(weights, two_four, {}).column, choose_weights(weights, v_n_m(16, 4), {}).column);
}

TEST(PruneTwoOfFour, SparsityOfTwoOfFourFollowsFromThePattern) {
  const WeightMatrix weights = trained_like(128, 160);
  EXPECT_EQ(choose_weights(weights, two_four, {}).kept(), 128 * 80);
  EXPECT_EQ(choose_weights(weights, v_n_m(32, 16), {.sparsity = 0.875}).kept(), 128 * 20);
  EXPECT_EQ(sparsity_of_pattern(two_four), 0.5);
  EXPECT_EQ(sparsity_of_pattern(v_n_m(64, 8)), 0.75);
  EXPECT_EQ(sparsity_of_pattern(formats::csr()), std::nullopt);
  const auto refusal = [&](const Format& format, double sparsity) -> std::string {
    try {
      choose_weights(weights, format, {.sparsity = sparsity});
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal(v_n_m(32, 16), 0.75), AllOf(HasSubstr("0.75"), HasSubstr("0.875"), HasSubstr("V=32")));
  EXPECT_THAT(refusal(two_four, 0.75), HasSubstr("0.5"));
  EXPECT_THAT(refusal(two_four, std::nan("")), HasSubstr("0.5"));
}

TEST(PruneTwoOfFour, WhatFitsTwoOfFourStays) {
  for (const Format& format : {two_four, v_n_m(16, 10), v_n_m(16, 100)}) {
    SCOPED_TRACE(format.text());
    const WeightMatrix once =
        pruned(trained_like(50, 230), choose_weights(trained_like(50, 230), format, {}));
    const Pruning again = choose_weights(once, format, {});
    EXPECT_EQ(again.kept_score, 1);
    EXPECT_EQ(again.column, once.column);
  }
}

TEST(PruneTwoOfFour, TwoOfFourKeepsMoreThanColumnsOfGroups) {
  const WeightMatrix weights = trained_like(256, 320, 21);
  for (const std::int64_t m : {8, 16}) {
    const double sparsity = 1 - 2 / static_cast<double>(m);
    const double patterned = choose_weights(weights, v_n_m(64, m), {}).kept_score;
    EXPECT_LT(patterned, choose_weights(weights, formats::csr(), {.sparsity = sparsity}).kept_score);
    EXPECT_GT(patterned, choose_weights(weights, formats::bcsr(64), {.sparsity = sparsity}).kept_score);
    EXPECT_GT(patterned, choose_weights(weights, v_n_m(128, m), {}).kept_score);
  }
}

TEST(PruneTwoOfFour, MatricesOfEveryKind) {
  for (const auto& [name, weights] : generated_matrices()) {
    SCOPED_TRACE(name);
    for (const Format& format : {two_four, v_n_m(16, 16)}) {
      const Pruning found = choose_weights(weights, format, {});
      EXPECT_EQ(std::ssize(found.row_begin), weights.rows + 1);
      pruned(weights, found).check();
    }
  }
}

TEST(PruneTwoOfFour, ALargeLayerTakesSeconds) {
#if !defined(__OPTIMIZE__)
  GTEST_SKIP() << "[SKIP] not an optimized build";
#else
  if (under_sanitizer) GTEST_SKIP() << "[SKIP] slowed by a sanitizer";
  const WeightMatrix weights = unlike(1024, 4096);
  for (const Format& format : {two_four, v_n_m(64, 16), v_n_m(16, 20), v_n_m(64, 32), v_n_m(64, 100)}) {
    // Of all threads together, so that what else the machine does counts for nothing: 7 s on two cores.
    const std::clock_t start = std::clock();
    choose_weights(weights, format, {});
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(taken, 15) << format.text();
    RecordProperty("seconds of " + format.text(), std::to_string(taken));
  }
#endif
}

}  // namespace
}  // namespace weft
