// Row orders of csr and ell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array orders{RowOrder::given, RowOrder::by_length, RowOrder::dealt, RowOrder::similar};

/// Rows of these lengths; row r has the columns r, r + 1, …, round the corner.
WeightMatrix of_lengths(const std::vector<std::int64_t>& lengths, std::int64_t columns) {
  std::vector<std::int64_t> row, column;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    for (std::int64_t i = 0; i < lengths[r]; ++i) {
      row.push_back(static_cast<std::int64_t>(r));
      column.push_back((static_cast<std::int64_t>(r) + i) % columns);
    }
  }
  const Array values = Array::of(std::vector<float>(row.size(), 1.0F));
  return from_coordinates(static_cast<std::int64_t>(lengths.size()), columns, row, column, values, "lengths");
}

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(RowOrder, EveryMatrixComesBackFromEveryOrder) {
  for (const auto& [name, weights] : generated_matrices()) {
    for (const RowOrder order : orders) {
      for (const std::int64_t rows : {1, 3, 64}) {
        for (const Format& format : {formats::csr({order, rows}), formats::ell({order, rows})}) {
          SCOPED_TRACE(name + " in " + format.text());
          const SparseTensor tensor = pack(weights, format);
          EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)));
          EXPECT_EQ(tensor.row_order().has_value(), order != RowOrder::given);
          EXPECT_EQ(tensor.row_levels(), order == RowOrder::given ? 1U : 2U);
          EXPECT_EQ(parse_format(format.text()), format);
        }
      }
    }
  }
}

TEST(RowOrder, ByLengthKeepsEqualRowsInOrder) {
  EXPECT_THAT(row_order(of_lengths({1, 3, 0, 3, 2}, 8), RowOrder::by_length, 1), ElementsAre(1, 3, 4, 0, 2));
  const SparseTensor tensor =
      pack(of_lengths({1, 3, 0, 3, 2}, 8), formats::csr({.order = RowOrder::by_length}));
  const auto begin = tensor.array("begin").as<std::int32_t>();
  EXPECT_THAT(std::vector(begin.begin(), begin.end()), ElementsAre(0, 3, 6, 8, 9, 9));
}

std::vector<std::int64_t> entries_of_blocks(const WeightMatrix& weights, std::int64_t rows) {
  std::vector<std::int64_t> result;
  for (std::int64_t row = 0; row < weights.rows; row += rows) {
    const auto end = static_cast<std::size_t>(std::min(weights.rows, row + rows));
    result.push_back(weights.row_begin[end] - weights.row_begin[static_cast<std::size_t>(row)]);
  }
  return result;
}

TEST(RowOrder, DealtBlocksAreAboutEqual) {
  EXPECT_THAT(row_order(of_lengths({4, 4, 1, 1}, 8), RowOrder::dealt, 2), ElementsAre(0, 2, 1, 3));
  // Lengths that grow: in the order given, the last block would have twice the mean.
  std::vector<std::int64_t> lengths(256);
  std::iota(lengths.begin(), lengths.end(), 0);
  const WeightMatrix weights = of_lengths(lengths, 300);
  const WeightMatrix dealt = with_row_order(weights, row_order(weights, RowOrder::dealt, 32));
  const auto blocks = entries_of_blocks(dealt, 32);
  EXPECT_EQ(blocks.size(), 8U);
  EXPECT_LE(*std::ranges::max_element(blocks), 1.01 * static_cast<double>(weights.stored()) / 8);
}

TEST(RowOrder, SimilarRowsShareColumns) {
  // Eight families of rows with ten columns of their own, shuffled together.
  std::vector<std::int64_t> row, column;
  for (std::int64_t r = 0; r < 64; ++r) {
    for (std::int64_t i = 0; i < 10; ++i) {
      if ((r * 7 + i) % 5 == 0) continue;  // not all of them in every row
      row.push_back(r);
      column.push_back((r * 5 % 8) * 10 + i);
    }
  }
  const WeightMatrix weights =
      from_coordinates(64, 80, row, column, Array::of(std::vector<float>(row.size(), 1.0F)), "families");
  const auto columns_of_blocks = [](const WeightMatrix& matrix) {
    std::size_t sum = 0;
    for (std::size_t first = 0; first < 64; first += 8) {
      const auto begin = matrix.column.begin() + matrix.row_begin[first];
      sum += std::set<std::int32_t>(begin, matrix.column.begin() + matrix.row_begin[first + 8]).size();
    }
    return sum;
  };
  EXPECT_EQ(columns_of_blocks(weights), 64U * 8U);
  const WeightMatrix ordered = with_row_order(weights, row_order(weights, RowOrder::similar, 8));
  EXPECT_EQ(columns_of_blocks(ordered), 80U);
}

TEST(RowOrder, RefusesWhatIsNoOrder) {
  EXPECT_THAT(complaint([] { parse_format("csr:order=sorted"); }),
              HasSubstr("given, length, dealt or similar"));
  EXPECT_EQ(parse_format("csr:order=dealt,rows=32"), formats::csr({RowOrder::dealt, 32}));
  const WeightMatrix weights = of_lengths({1, 2}, 4);
  EXPECT_THAT(complaint([&] { pack(weights, formats::csr({RowOrder::dealt, 0})); }), HasSubstr("at least 1"));
  EXPECT_THAT(complaint([&] { pack(weights, Format{"csr", {{"order", 9}}}); }), HasSubstr("9"));
  EXPECT_THAT(complaint([&] { pack(weights, parse_format("coo:order=dealt")); }), HasSubstr("order"));
}

TEST(RowOrder, DamageIsNamed) {
  const SparseTensor tensor =
      pack(of_lengths({1, 3, 0, 3, 2}, 8), formats::csr({.order = RowOrder::by_length}));
  const auto with = [&](const std::vector<std::int32_t>& order) {
    std::vector<SparseTensor::NamedArray> arrays = tensor.arrays();
    for (auto& named : arrays) {
      if (named.name == "row_order") named.array = Array::of(order);
    }
    return SparseTensor(tensor.format(), tensor.shape(), tensor.rows(), tensor.columns(), tensor.levels(),
                        arrays);
  };
  const auto check = [&](const std::vector<std::int32_t>& order) {
    return complaint([&] { with(order).check(); });
  };
  EXPECT_EQ(check({1, 3, 4, 0, 2}), "none");
  EXPECT_EQ(check({2, 0, 4, 3, 1}), "none");
  EXPECT_THAT(check({1, 3, 3, 0, 2}), AllOf(HasSubstr("row_order[2]"), HasSubstr("row 3 appears twice")));
  EXPECT_THAT(check({1, 3, 4, 0, 5}), AllOf(HasSubstr("row_order[4]"), HasSubstr("0 to 4")));
  EXPECT_THAT(check({-1, 3, 4, 0, 2}), HasSubstr("row_order[0]"));
  EXPECT_THAT(check({1, 3, 4, 0}), HasSubstr("row_order"));
}

}  // namespace
}  // namespace weft
