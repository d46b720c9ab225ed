// Structures that are there are found, and those that are not are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/structure.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

/// Every place of a unit of `height` rows and `width` columns is stored with the same chance, the rows then
/// shuffled; `lost` is the chance of a stored value to be zero.
WeightMatrix structured(std::int64_t rows, std::int64_t columns, std::int64_t height, std::int64_t width,
                        double density, bool shuffle, double lost = 0) {
  Random random(7);
  std::vector<std::int64_t> target(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<std::int64_t>(i);
  if (shuffle) {
    for (std::size_t i = target.size(); i-- > 1;)
      std::swap(target[i], target[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
  }
  Array dense(DType::f32, {rows, columns});
  for (std::int64_t row = 0; row < rows; row += height) {
    for (std::int64_t column = 0; column < columns; column += width) {
      if (random.uniform() >= density) continue;
      for (std::int64_t r = row; r < std::min(rows, row + height); ++r) {
        for (std::int64_t c = column; c < std::min(columns, column + width); ++c) {
          if (random.uniform() >= lost) dense.set(target[static_cast<std::size_t>(r)] * columns + c, 1);
        }
      }
    }
  }
  return from_dense(dense, "structured");
}

std::vector<std::string> names(const std::vector<FoundStructure>& structures) {
  std::vector<std::string> result;
  for (const FoundStructure& structure : structures) result.push_back(structure.format.text());
  return result;
}

TEST(Structure, BlocksAreFound) {
  for (const std::int64_t b : {8, 16, 32, 64}) {
    for (const std::int64_t rows : {256, 264}) {
      const WeightMatrix weights = structured(rows, 520, b, b, 0.25, false);
      const auto found = find_structures(weights);
      ASSERT_FALSE(found.empty()) << b;
      EXPECT_EQ(found[0].format.text(), "bcsr:b=" + std::to_string(b));
      EXPECT_DOUBLE_EQ(found[0].fill, 1);
      EXPECT_NEAR(found[0].density, 0.25, 0.12);
    }
  }
}

TEST(Structure, ColumnsOfGroupsAreFound) {
  for (const std::int64_t v : {8, 16, 32, 64, 128, 256}) {
    for (const std::int64_t rows : {512, 600}) {
      for (const double density : {0.5, 0.1}) {
        const auto found = find_structures(structured(rows, 300, v, 1, density, false));
        EXPECT_EQ(names(found), std::vector<std::string>{"vector_wise:V=" + std::to_string(v)});
      }
    }
  }
}

TEST(Structure, ShuffledGroupsAreFound) {
  for (const std::int64_t v : {8, 16, 32, 64, 128, 256}) {
    for (const std::int64_t rows : {512, 600}) {
      for (const double lost : {0.0, 0.05}) {
        SCOPED_TRACE(std::to_string(v) + " of " + std::to_string(rows));
        const WeightMatrix weights = structured(rows, 300, v, 1, 0.3, true, lost);
        const auto found = find_structures(weights);
        ASSERT_EQ(names(found), std::vector<std::string>{"shfl_bw:V=" + std::to_string(v)});
        EXPECT_NEAR(found[0].fill, 1 - lost, 0.02);
        EXPECT_NEAR(found[0].density, 0.3, 0.1);
        const auto& order = found[0].row_order;
        EXPECT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(), static_cast<std::size_t>(rows));
        std::int64_t kept = 0;
        for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(v)) {
          std::set<std::int32_t> columns;
          for (std::size_t i = first; i < std::min(order.size(), first + static_cast<std::size_t>(v)); ++i) {
            const auto row = static_cast<std::size_t>(order[i]);
            columns.insert(weights.column.begin() + weights.row_begin[row],
                           weights.column.begin() + weights.row_begin[row + 1]);
          }
          kept += std::ssize(columns);
        }
        EXPECT_EQ(kept, found[0].kept);
      }
    }
  }
}

TEST(Structure, RowsWithoutEntriesBelongToAnyGroup) {
  WeightMatrix weights = structured(512, 300, 64, 1, 0.3, true);
  Array dense = to_dense(weights);
  for (const std::int64_t row : {5, 77, 300}) {
    for (std::int64_t column = 0; column < 300; ++column) dense.set(row * 300 + column, 0);
  }
  EXPECT_EQ(names(find_structures(from_dense(dense, "dead rows"))), std::vector<std::string>{"shfl_bw:V=64"});
}

TEST(Structure, TwoOfFourIsFound) {
  const WeightMatrix weights = trained_like(256, 480, 3);
  const auto found_in = [&](const Format& format) {
    return find_structures(pruned(weights, choose_weights(weights, format, {})));
  };
  EXPECT_EQ(names(found_in({"n_m", {}})), std::vector<std::string>{"n_m"});
  for (const std::int64_t v : {16, 32, 64, 128}) {
    for (const std::int64_t m : {8, 10, 16, 20, 32, 40, 100}) {
      const Format format{"v_n_m", {{"V", v}, {"M", m}}};
      const auto found = found_in(format);
      ASSERT_EQ(names(found), std::vector<std::string>{format.text()});
      EXPECT_DOUBLE_EQ(found[0].fill, 1);
      EXPECT_TRUE(found[0].rule.holds());
      EXPECT_NEAR(found[0].density, 2 / static_cast<double>(m), 0.01);
    }
  }
}

TEST(Structure, TheFirstBlockThatBreaksAPatternIsNamed) {
  const WeightMatrix weights = trained_like(256, 320, 3);
  const auto with_ones = [&](const Format& format, std::int64_t row, std::initializer_list<int> columns) {
    Array dense = to_dense(pruned(weights, choose_weights(weights, format, {})));
    for (const int column : columns) dense.set(row * 320 + column, 1);
    const auto found = find_structures(from_dense(dense, "broken"));
    return found.size() == 1 ? text_of(found[0]) : std::string();
  };
  EXPECT_THAT(
      with_ones({"n_m", {}}, 77, {84, 85, 86, 87}),
      ::testing::AllOf(::testing::HasSubstr("n_m: 50.0 %"),
                       ::testing::HasSubstr("20479 of 20480 blocks keep 2:4: row 77 has 4 in columns 84 "
                                            "to 87, at most 2 allowed")));
  EXPECT_THAT(with_ones({"v_n_m", {{"V", 64}, {"M", 16}}}, 130, {32, 33, 34}),
              ::testing::HasSubstr("79 of 80 blocks keep 64:2:16: row 130 has "));
}

TEST(Structure, WhatPruningMadeIsFound) {
  Random random(3);
  Array dense(DType::f16, {192, 16, 3, 3});
  for (std::int64_t i = 0; i < dense.size(); ++i) dense.set(i, 0.5 + random.uniform());
  const WeightMatrix filter = from_dense(dense, "filter");
  for (const Format& format : {Format{"shfl_bw", {{"V", 32}}}, Format{"shfl_bw", {{"V", 64}}}}) {
    const PruneOptions options{.sparsity = 0.75};
    const WeightMatrix left = pruned(filter, choose_weights(filter, format, options));
    EXPECT_EQ(names(find_structures(left)), std::vector<std::string>{format.text()});
  }
}

TEST(Structure, NothingIsFoundWhereNothingIs) {
  for (const double density : {0.02, 0.1, 0.5, 0.9, 0.97}) {
    EXPECT_TRUE(find_structures(random_matrix(256, 200, density, 3)).empty()) << density;
  }
  EXPECT_TRUE(find_structures(synthetic_layer({})).empty());
  EXPECT_TRUE(find_structures(random_matrix(64, 64, 1, 3)).empty());
  for (const auto& [name, weights] : generated_matrices()) {
    SCOPED_TRACE(name);
    for (const FoundStructure& structure : find_structures(weights)) EXPECT_GE(structure.fill, 0.9);
  }
}

TEST(Structure, TextSaysWhatIsKept) {
  const FoundStructure found{{"shfl_bw", {{"V", 64}}}, 10, 0.25, 0.995, {}};
  EXPECT_EQ(text_of(found), "shfl_bw:V=64: 25.0 % of the columns of groups kept, 99.5 % filled");
}

TEST(Structure, LargeWeightsTakeLittleTime) {
  const WeightMatrix plain = random_matrix(2048, 4096, 0.25, 1);
  const WeightMatrix shuffled = structured(2048, 4096, 32, 1, 0.25, true);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(find_structures(plain).empty());
  EXPECT_EQ(names(find_structures(shuffled)), std::vector<std::string>{"shfl_bw:V=32"});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  // Half a second when optimized; the limit leaves room for sanitizers and a busy machine.
  EXPECT_LT(taken.count(), 30);
  RecordProperty("seconds", std::to_string(taken.count()));
}

}  // namespace
}  // namespace weft
