// Sliced ELL: where places lie, how slices are dealt, and what the check says of damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>

#include <algorithm>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// rows of columns: {0, 2}, {}, {1, 3, 4}, {0}, {2}
WeightMatrix small_for_slices() {
  return from_coordinates(5, 5, {0, 0, 2, 2, 2, 3, 4}, {0, 2, 1, 3, 4, 0, 2},
                          Array::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7}), "small");
}

TEST(SlicedEll, PlacesOfTheRowsOfASliceComeInTurn) {
  const SparseTensor tensor = pack(small_for_slices(), formats::sliced_ell({.slice = 2, .pad = 2}));
  EXPECT_THAT(test::integers_of_i32(tensor, "row_order"), ElementsAre(2, 0, 3, 4, 1, -1));
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(test::integers_of_i32(tensor, "column"), ElementsAre(1, 3, 0, 2, 4, -1, -1, -1, 0, -1, 2, -1));
  const auto values = tensor.array("values").as<float>();
  EXPECT_THAT(std::vector(values.begin(), values.end()), ElementsAre(3, 4, 1, 2, 5, 0, 0, 0, 6, 0, 7, 0));
  EXPECT_TRUE(tensor.array("values").is_zero_bits(5));
}

TEST(SlicedEll, GivesBackEveryGeneratedMatrix) {
  for (const auto& [name, weights] : generated_matrices()) {
    for (const char* text : {"sliced_ell:slice=1,pad=1", "sliced_ell:slice=3,pad=5", "sliced_ell:deal=2",
                             "sliced_ell:slice=32,pad=16,deal=1000"}) {
      SCOPED_TRACE(name + " in " + text);
      EXPECT_TRUE(same_bits(pack(weights, parse_format(text)).to_dense(), to_dense(weights)));
    }
  }
}

/// Sixteen slices of one row, of 16, 15, … entries: those of each block have 34 together.
TEST(SlicedEll, DealsSlicesToBlocksOfEqualPlaces) {
  const WeightMatrix stairs =
      where(random_matrix(16, 16, 1, 3), [](std::int64_t row, std::int64_t column) { return column <= row; });
  const SparseTensor tensor = pack(stairs, formats::sliced_ell({.slice = 1, .pad = 1, .deal = 4}));
  const std::vector<std::int32_t> begin = test::integers_of_i32(tensor, "begin");
  ASSERT_EQ(begin.size(), 17U);
  for (std::size_t block = 0; block < 16; block += 4) EXPECT_NEAR(begin[block + 4] - begin[block], 34, 2);
  EXPECT_GT(begin[1] - begin[0], begin[4] - begin[3]);
}

TEST(SlicedEll, ColumnsMayHaveSixteenBits) {
  const SparseTensor tensor =
      pack(small_for_slices(), formats::sliced_ell({.slice = 2, .pad = 2, .index = 16}));
  EXPECT_EQ(tensor.array("column").dtype(), DType::i16);
  EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(small_for_slices())));
  const WeightMatrix wide = from_coordinates(1, 32'769, {0}, {32'768}, Array(DType::f32, {1}), "wide");
  EXPECT_THAT(message_of([&] { pack(wide, formats::sliced_ell({.index = 16})); }),
              HasSubstr("32769 columns"));
}

TEST(SlicedEll, ChecksWhatIsDamaged) {
  const SparseTensor tensor = pack(small_for_slices(), formats::sliced_ell({.slice = 2, .pad = 2}));
  EXPECT_EQ(complaint(tensor), "none");
  EXPECT_THAT(complaint(damaged(tensor, "values", 5, 1)), HasSubstr("row 2, values[5]"));
  EXPECT_THAT(complaint(damaged(tensor, "values", 7, -0.0)), HasSubstr("row 0, values[7]"));
  EXPECT_THAT(complaint(damaged(tensor, "column", 2, 5)), HasSubstr("row 0, column[2] | column 5 | 0 to 4"));
  EXPECT_THAT(complaint(damaged(tensor, "column", 4, 1)), HasSubstr("stored before"));
  EXPECT_THAT(complaint(damaged(tensor, "begin", 1, 4)), HasSubstr("begin["));
  EXPECT_THAT(complaint(damaged(tensor, "begin", 3, 2)), HasSubstr("12 elements | 8 elements"));
  EXPECT_THAT(complaint(damaged(tensor, "row_order", 1, 2)), HasSubstr("appears twice"));
  std::vector<Level> levels = tensor.levels();
  levels[4].across = 0;
  EXPECT_THAT(complaint(SparseTensor(tensor.format(), tensor.shape(), 5, 5, levels, tensor.arrays())),
              HasSubstr("level 4 | the children of level 0"));
}

TEST(SlicedEll, RefusesParametersThatItDoesNotHave) {
  for (const char* text : {"sliced_ell:index=8", "sliced_ell:slice=33", "sliced_ell:slice=0",
                           "sliced_ell:pad=0", "sliced_ell:deal=-1", "sliced_ell:order=2"})
    EXPECT_THROW(pack(small_for_slices(), parse_format(text)), UserError) << text;
  EXPECT_EQ(formats::sliced_ell({.deal = 2}).text(), "sliced_ell:deal=2,pad=4,slice=8");
}

}  // namespace
}  // namespace weft
