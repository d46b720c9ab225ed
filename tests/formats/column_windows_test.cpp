// column_windows: what it stores where, at odd shapes, and what is found wrong in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/pattern_rules.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>

#include <algorithm>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rows {}, {3, 40, 41, 42, 43, 44}, {5, 90} of 100 columns.
WeightMatrix rows_in_windows() {
  return from_coordinates(3, 100, {1, 1, 1, 1, 1, 1, 2, 2}, {3, 40, 41, 42, 43, 44, 5, 90},
                          Array::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), "small");
}

TEST(ColumnWindows, ABlockGoesAsFarAsItsWindow) {
  const SparseTensor tensor = pack(rows_in_windows(), formats::column_windows());
  EXPECT_THAT(test::integers(tensor, "begin"), ElementsAre(0, 4));
  // 3 and 5; four of the columns from 40 on; 44; and 90, whose window ends with the matrix.
  EXPECT_THAT(test::integers(tensor, "base"), ElementsAre(3, 40, 44, 68));
  const auto values = tensor.array("values").as<float>();
  const auto offset = tensor.array("offset").as<std::uint8_t>();
  EXPECT_EQ(values.size(), 4U * 64U);
  EXPECT_EQ(tensor.row_order(), "row_order");
  EXPECT_EQ(test::integers(tensor, "row_order")[0], 1) << "the longest row comes first";
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 7);
  EXPECT_EQ(offset[1], 2);
  EXPECT_EQ(offset[2], 255) << "an empty row";
  for (const std::size_t step : {0U, 1U, 2U, 3U}) EXPECT_EQ(offset[64 + step * 16], step);
  EXPECT_EQ(offset[3 * 64 + 1], 90 - 68);
}

TEST(ColumnWindows, GivesBackEveryOddShape) {
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {1, 3, 16, 33, 65}) {
    for (const std::int64_t columns : {1, 7, 31, 32, 33, 129}) {
      for (const double sparsity : {0.0, 0.7, 0.97}) {
        const WeightMatrix weights =
            synthetic_layer({.rows = rows, .columns = columns, .sparsity = sparsity, .seed = ++seed});
        const SparseTensor tensor = pack(weights, formats::column_windows());
        EXPECT_EQ(complaint(tensor), "none");
        EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights))) << rows << " x " << columns;
      }
    }
  }
}

TEST(ColumnWindows, TwoOfFourFillEveryPlace) {
  const WeightMatrix all = synthetic_layer({.rows = 64, .columns = 128, .sparsity = 0, .seed = 3});
  const WeightMatrix kept = pruned(all, choose_weights(all, parse_format("n_m"), {}));
  const SparseTensor tensor = pack(kept, formats::column_windows());
  EXPECT_LE(static_cast<double>(tensor.array("values").size()), 1.1 * static_cast<double>(kept.stored()));
}

TEST(ColumnWindows, DamageIsSaid) {
  const SparseTensor tensor = pack(rows_in_windows(), formats::column_windows());
  EXPECT_THAT(complaint(damaged(tensor, "base", 1, 69)), HasSubstr("base[1]"));
  EXPECT_THAT(complaint(damaged(tensor, "base", 1, -1)), HasSubstr("base[1]"));
  EXPECT_THAT(complaint(damaged(tensor, "offset", 0, 77)), HasSubstr("+0")) << "a value, and no place";
  EXPECT_THAT(complaint(damaged(tensor, "begin", 1, 9)), HasSubstr("begin[1]"));
}

}  // namespace
}  // namespace weft
