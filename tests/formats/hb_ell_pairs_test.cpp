// hb_ell:pairs=1: blocks whose columns are put in fours of which every row has two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/hb_ell_blocks.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>

#include <map>
#include <set>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Format usual = parse_format("hb_ell:pairs=1"), deep = parse_format("hb_ell:k=128,pairs=1");

/// The fours of each block row that have a column, by the blocks that these are in.
std::vector<std::map<std::int64_t, int>> fours_of(const SparseTensor& tensor, std::int64_t slots) {
  const std::vector<std::int64_t> begin = test::integers(tensor, "begin"),
                                  column = test::integers(tensor, "column");
  std::vector<std::map<std::int64_t, int>> result;
  for (std::size_t row = 0; row + 1 < begin.size(); ++row) {
    auto& blocks = result.emplace_back();
    for (std::int64_t slot = begin[row] * slots; slot < begin[row + 1] * slots; slot += slots_of_quad) {
      const std::int64_t first = column[static_cast<std::size_t>(slot)];
      if (first >= 0) ++blocks[first / 16];
    }
  }
  return result;
}

WeightMatrix of_entries(std::int64_t rows, std::int64_t columns,
                        const std::vector<std::pair<std::int64_t, std::int64_t>>& places) {
  std::vector<std::int64_t> row, column;
  for (const auto& [r, c] : places) {
    row.push_back(r);
    column.push_back(c);
  }
  Array values(DType::f16, {std::ssize(places)});
  for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, 1 + static_cast<double>(i % 7));
  return from_coordinates(rows, columns, row, column, values, "entries");
}

TEST(HbEllPairs, GiveBackEveryGeneratedMatrixAndOddShape) {
  for (const auto& [name, weights] : generated_matrices()) {
    for (const Format& format : {usual, deep})
      EXPECT_TRUE(same_bits(pack(weights, format).to_dense(), to_dense(weights))) << name;
  }
  std::uint64_t seed = 0;
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {1, 203}, {7, 9}, {15, 17}, {16, 64}, {31, 65}, {129, 101}, {200, 40}, {65, 3}}) {
    for (const double density : {0.02, 0.3, 1.0}) {
      for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
        const WeightMatrix weights = random_matrix(rows, columns, density, ++seed, type);
        const Format& format = seed % 2 == 0 ? usual : deep;
        EXPECT_TRUE(same_bits(pack(weights, format).to_dense(), to_dense(weights)))
            << format.text() << ", " << rows << " x " << columns;
      }
    }
  }
}

TEST(HbEllPairs, BlocksTakeAsManyFoursAsTheirRowsAskFor) {
  // Rows that have two of columns 0 to 3 each, with one that has columns 0, 4, 8 and 12: in the order of the
  // matrix it fits, too. Rows with three neighbours do not, and fit in another order.
  std::vector<std::pair<std::int64_t, std::int64_t>> neighbours;
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t i = 0; i < 3; ++i) neighbours.emplace_back(row, row % 4 * 4 + i);
  }
  EXPECT_THAT(fours_of(pack(of_entries(16, 16, neighbours), usual), 64).front(),
              ElementsAre(std::pair<const std::int64_t, int>(0, 4)));
  // A full block has two columns in each of eight fours, an empty one none, a column alone one.
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t column = 16; column < 32; ++column) places.emplace_back(row, column);
  }
  places.emplace_back(3, 70);
  places.emplace_back(40, 5);
  const auto rows = fours_of(pack(of_entries(45, 71, places), usual), 64);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[0], ElementsAre(std::pair<const std::int64_t, int>(1, 8),
                                   std::pair<const std::int64_t, int>(4, 1)));
  EXPECT_TRUE(rows[1].empty());
  EXPECT_THAT(rows[2], ElementsAre(std::pair<const std::int64_t, int>(0, 1)));
}

/// At 80 % zeros nearly every block fits two of four in an order of its own (docs/decisions.md).
TEST(HbEllPairs, MostBlocksOfAPrunedMatrixFitTwoOfFour) {
  const auto rows = fours_of(pack(random_matrix(512, 512, 0.2, 9, DType::f16), usual), 64);
  int all = 0, fit = 0;
  for (const auto& blocks : rows) {
    for (const auto& [block, fours] : blocks) {
      ++all;
      fit += fours <= 4 ? 1 : 0;
      EXPECT_LE(fours, 8);
    }
  }
  EXPECT_EQ(all, 32 * 32);
  EXPECT_GE(10 * fit, 9 * all);
}

TEST(HbEllPairs, FoursHaveColumnsOfOneBlockAndTheCheckSaysSo) {
  const SparseTensor tensor = pack(random_matrix(40, 100, 0.4, 5, DType::f16), usual);
  const std::vector<std::int64_t> column = test::integers(tensor, "column");
  std::set<std::int64_t> listed;
  const std::int64_t of_first_row = test::integers(tensor, "begin")[1] * 64;
  for (std::int64_t slot = 0; slot < of_first_row; ++slot) {
    const std::int64_t found = column[static_cast<std::size_t>(slot)];
    EXPECT_TRUE(found < 0 || listed.insert(found).second) << "column " << found << " twice";
  }
  EXPECT_EQ(complaint(tensor), "none");
  // A column of an empty block in the place of another.
  const SparseTensor left = pack(of_entries(16, 40, {{0, 1}, {0, 2}, {1, 5}}), usual);
  EXPECT_EQ(complaint(left), "none");
  EXPECT_THAT(complaint(damaged(left, "column", 1, 39)), HasSubstr("column[1] | 39 | 0 to 15, the block"));
  EXPECT_THAT(complaint(damaged(left, "column", 5, 7)), HasSubstr("column[5] | 7 | -1, as in front of it"));
  EXPECT_THAT(complaint(damaged(left, "column", 1, 40)), HasSubstr("column[1] | column 40"));
}

TEST(HbEllPairs, ThreadsChangeNothing) {
  const WeightMatrix weights = random_matrix(333, 200, 0.1, 3, DType::f16);
  const SparseTensor one = named::pack_hb_ell(weights, usual, 1);
  const SparseTensor several = named::pack_hb_ell(weights, usual, 3);
  for (const auto& [name, array] : one.arrays()) EXPECT_TRUE(same_bits(array, several.array(name))) << name;
}

}  // namespace
}  // namespace weft
