#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/random.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

/// The same numbers by their definitions, element by element.
class BruteForce {
 public:
  explicit BruteForce(const WeightMatrix& weights)
      : rows_(weights.rows),
        columns_(weights.columns),
        stored_(static_cast<std::size_t>(rows_ * columns_), false) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (auto i = weights.row_begin[static_cast<std::size_t>(row)];
           i < weights.row_begin[static_cast<std::size_t>(row) + 1]; ++i) {
        stored_[static_cast<std::size_t>(row * columns_ + weights.column[static_cast<std::size_t>(i)])] =
            true;
      }
    }
  }

  bool at(std::int64_t row, std::int64_t column) const {
    return row < rows_ && column < columns_ && stored_[static_cast<std::size_t>(row * columns_ + column)];
  }
  std::int64_t count(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width) const {
    std::int64_t result = 0;
    for (std::int64_t r = row; r < row + height; ++r) {
      for (std::int64_t c = column; c < column + width; ++c) result += at(r, c) ? 1 : 0;
    }
    return result;
  }
  std::int64_t used_columns(std::int64_t row, std::int64_t column, std::int64_t height,
                            std::int64_t width) const {
    std::int64_t result = 0;
    for (std::int64_t c = column; c < column + width; ++c) result += count(row, c, height, 1) > 0 ? 1 : 0;
    return result;
  }
  /// Non-empty blocks, and those of them for which `rule(row, column)` holds.
  template <class Rule>
  std::pair<std::int64_t, std::int64_t> blocks(std::int64_t height, std::int64_t width,
                                               const Rule& rule) const {
    std::pair<std::int64_t, std::int64_t> result;
    for (std::int64_t r = 0; r < rows_; r += height) {
      for (std::int64_t c = 0; c < columns_; c += width) {
        if (count(r, c, height, width) == 0) continue;
        ++result.first;
        result.second += rule(r, c) ? 1 : 0;
      }
    }
    return result;
  }

  void expect_same(const Statistics& statistics) const {
    expect_same_lengths(statistics);
    const std::int64_t total = count(0, 0, rows_, columns_);
    const auto share = [&](std::int64_t elements) {
      return elements == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(elements);
    };
    ASSERT_EQ(statistics.block_fills.size(), 4U);
    for (const auto& fill : statistics.block_fills) {
      const auto found = blocks(fill.size, fill.size, [](auto, auto) { return true; });
      EXPECT_EQ(fill.blocks, found.first) << fill.size;
      EXPECT_DOUBLE_EQ(fill.fill, share(found.first * fill.size * fill.size)) << fill.size;
    }
    ASSERT_EQ(statistics.vector_fills.size(), 5U);
    for (const auto& fill : statistics.vector_fills) {
      std::int64_t kept = 0;
      for (std::int64_t r = 0; r < rows_; r += fill.height) kept += used_columns(r, 0, fill.height, columns_);
      EXPECT_EQ(fill.columns, kept) << fill.height;
      EXPECT_DOUBLE_EQ(fill.fill, share(kept * fill.height)) << fill.height;
    }
    ASSERT_EQ(statistics.rules.size(), 10U + 32U);
    for (const PatternRule& rule : statistics.rules) expect_same_rule(rule);
  }

 private:
  void expect_same_lengths(const Statistics& statistics) const {
    double mean = 0;
    double squares = 0;
    std::int64_t shortest = rows_ == 0 ? 0 : columns_;
    std::int64_t longest = 0;
    std::int64_t empty = 0;
    std::int64_t bandwidth = 0;
    for (std::int64_t r = 0; r < rows_; ++r) {
      const std::int64_t length = count(r, 0, 1, columns_);
      mean += static_cast<double>(length) / static_cast<double>(rows_);
      squares += static_cast<double>(length * length) / static_cast<double>(rows_);
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
      empty += length == 0 ? 1 : 0;
      for (std::int64_t c = 0; c < columns_; ++c) {
        if (at(r, c)) bandwidth = std::max(bandwidth, std::abs(r - c));
      }
    }
    EXPECT_EQ(statistics.stored, count(0, 0, rows_, columns_));
    EXPECT_EQ(statistics.row_lengths.shortest, shortest);
    EXPECT_EQ(statistics.row_lengths.longest, longest);
    EXPECT_NEAR(statistics.row_lengths.mean, mean, 1e-9);
    const double variation = mean == 0 ? 0 : std::sqrt(std::max(0.0, squares - mean * mean)) / mean;
    EXPECT_NEAR(statistics.row_lengths.variation, variation, 1e-6);
    EXPECT_EQ(statistics.empty_rows, empty);
    EXPECT_EQ(statistics.empty_columns, columns_ - used_columns(0, 0, rows_, columns_));
    EXPECT_EQ(statistics.bandwidth, bandwidth);
  }

  void expect_same_rule(const PatternRule& rule) const {
    SCOPED_TRACE(rule.name());
    std::optional<PatternRule::Break> broken;
    const auto found = blocks(rule.v, rule.m, [&](std::int64_t row, std::int64_t column) {
      PatternRule::Break here{row, column, used_columns(row, column, rule.v, rule.m), false};
      bool good = rule.v == 1 || here.found <= 4;
      for (std::int64_t r = row + rule.v; r-- > row;) {
        if (count(r, column, 1, rule.m) <= rule.n) continue;
        good = false;
        here = {r, column, count(r, column, 1, rule.m), true};
      }
      if (!good && !broken) broken = here;
      return good;
    });
    EXPECT_EQ(rule.blocks, found.first);
    EXPECT_EQ(rule.fulfilled, found.second);
    ASSERT_EQ(rule.first_break.has_value(), broken.has_value());
    if (!broken) return;
    EXPECT_EQ(rule.first_break->row, broken->row);
    EXPECT_EQ(rule.first_break->column, broken->column);
    EXPECT_EQ(rule.first_break->found, broken->found);
    EXPECT_EQ(rule.first_break->in_a_row, broken->in_a_row);
  }

  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<bool> stored_;
};

/// Every V x M block keeps four columns, of which each row stores two.
WeightMatrix vector_nm_matrix(std::int64_t rows, std::int64_t columns, std::int64_t v, std::int64_t m) {
  Random random(9);
  Array dense(DType::f32, {rows, columns});
  for (std::int64_t r = 0; r < rows; r += v) {
    for (std::int64_t c = 0; c < columns; c += m) {
      std::set<std::int64_t> kept;
      while (kept.size() < 4) kept.insert(random.below(m));
      const std::vector<std::int64_t> column(kept.begin(), kept.end());
      for (std::int64_t row = r; row < r + v; ++row) {
        const auto first = static_cast<std::size_t>(random.below(2));
        dense.set(row * columns + c + column[first], 1);
        dense.set(row * columns + c + column[2 + static_cast<std::size_t>(random.below(2))], 1);
      }
    }
  }
  return from_dense(dense, "v:n:m");
}

TEST(Statistics, AgreeWithTheirDefinitionsOnGeneratedMatrices) {
  for (const auto& [name, weights] : generated_matrices()) {
    SCOPED_TRACE(name);
    BruteForce(weights).expect_same(statistics(weights));
  }
}

TEST(Statistics, AgreeWithTheirDefinitionsOnRandomShapes) {
  Random random(31);
  for (int trial = 0; trial < 60; ++trial) {
    const std::int64_t rows = 1 + random.below(300);
    const std::int64_t columns = 1 + random.below(90);
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const double density = trial % 2 == 0 ? 0.02 * random.uniform() : random.uniform();
    const WeightMatrix weights = random_matrix(rows, columns, density, random.bits());
    BruteForce(weights).expect_same(statistics(weights));
  }
}

TEST(Statistics, FindVectorNMWhereItHolds) {
  for (const std::int64_t v : {16, 32, 64, 128}) {
    for (const std::int64_t m : {8, 10, 16, 20, 32, 40, 100}) {
      const WeightMatrix weights = vector_nm_matrix(256, 2 * m, v, m);
      const Statistics found = statistics(weights);
      BruteForce(weights).expect_same(found);
      bool seen = false;
      for (const auto& best : tallest_blocks(found.rules)) seen = seen || (best.v == v && best.m == m);
      EXPECT_TRUE(seen) << v << ":2:" << m;
      EXPECT_THAT(report_text(found), HasSubstr(std::to_string(v) + ":2:" + std::to_string(m)));
    }
  }
}

TEST(Statistics, NameTheFirstBreakOfTwoFour) {
  Array dense(DType::f32, {40, 12});
  for (const std::int64_t column : {8, 9, 11}) dense.set(37 * 12 + column, 1);
  const Statistics found = statistics(from_dense(dense, "broken"));
  ASSERT_FALSE(found.two_four().holds());
  EXPECT_THAT(report_text(found), HasSubstr("row 37 has 3 in columns 8 to 11, at most 2 allowed"));
}

TEST(Statistics, NameTheRulesOfRowsThatNoOtherImplies) {
  const auto strictest = [](std::int64_t n, std::int64_t m) {
    Array dense(DType::f32, {16, 64});
    Random random(2);
    for (std::int64_t i = 0; i < dense.size(); i += m) {
      for (std::int64_t left = n; left > 0;) {
        const std::int64_t place = i + random.below(m);
        left -= dense.get(place) == 0 ? 1 : 0;
        dense.set(place, 1);
      }
    }
    std::vector<std::string> names;
    for (const PatternRule& rule : strictest_rows(statistics(from_dense(dense, "rows")).rules))
      names.push_back(rule.name());
    return names;
  };
  EXPECT_EQ(strictest(2, 4), std::vector<std::string>{"2:4"});
  EXPECT_EQ(strictest(1, 4), std::vector<std::string>{"1:4"});
  EXPECT_EQ(strictest(4, 8), std::vector<std::string>{"4:8"});
  EXPECT_EQ(strictest(1, 16), std::vector<std::string>{"1:16"});
  EXPECT_TRUE(strictest(4, 4).empty());
}

TEST(Statistics, CountBytes) {
  const Statistics found = statistics(random_matrix(10, 20, 0, 1, DType::f16));
  EXPECT_EQ(found.bytes_dense, 400);
  EXPECT_EQ(found.bytes_csr, 44);
  EXPECT_EQ(found.bytes_ell, 0);
  const Array ones = Array::of(std::vector<float>{1, 2, 3});
  const Statistics three = statistics(from_coordinates(10, 20, {1, 1, 5}, {0, 19, 3}, ones, "three"));
  EXPECT_EQ(three.bytes_csr, 3 * 8 + 44);
  EXPECT_EQ(three.bytes_ell, 10 * 2 * 8);
}

TEST(Statistics, TakeMemoryByEntriesNotByColumns) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const Statistics found =
      statistics(from_coordinates(3, most, {0, 2}, {0, most - 1}, Array(DType::f64, {2}), "wide"));
  EXPECT_EQ(found.empty_columns, most - 2);
  EXPECT_EQ(found.bandwidth, most - 3);
  const WeightMatrix tall = from_coordinates(0, most, {}, {}, Array(DType::f64, {0}), "none");
  EXPECT_EQ(statistics(tall).empty_columns, most);
}

TEST(Statistics, JsonHoldsWhatWasFound) {
  const WeightMatrix weights = random_matrix(40, 50, 0.3, 5);
  const Statistics found = statistics(weights);
  const auto json = nlohmann::json::parse(json_text(found));
  EXPECT_EQ(json.at("rows"), 40);
  EXPECT_EQ(json.at("columns"), 50);
  EXPECT_EQ(json.at("stored"), weights.stored());
  EXPECT_EQ(json.at("dtype"), "f32");
  EXPECT_EQ(json.at("row_lengths").at("longest"), found.row_lengths.longest);
  EXPECT_EQ(json.at("is_two_four"), false);
  ASSERT_EQ(json.at("rules").size(), found.rules.size());
  EXPECT_EQ(json.at("rules").at(2).at("first_break").at("row"), found.rules[2].first_break->row);
  EXPECT_EQ(json.at("block_fills").at(0).at("blocks"), found.block_fills[0].blocks);
  EXPECT_EQ(json.at("bytes_csr"), found.bytes_csr);
}

TEST(Statistics, LargeWeightsTakeLittleTime) {
  const WeightMatrix weights = random_matrix(4096, 4096, 0.5, 1);
  const auto start = std::chrono::steady_clock::now();
  const Statistics found = statistics(weights);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(found.stored, weights.stored());
  // A quarter of a second when optimized; the limit leaves room for sanitizers and a busy machine.
  EXPECT_LT(taken.count(), 30);
  RecordProperty("seconds", std::to_string(taken.count()));
}

}  // namespace
}  // namespace weft
