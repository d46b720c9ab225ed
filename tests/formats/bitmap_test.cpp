// bitmap: which bits and offsets a weight has, and what its check refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/sparse_tensor.h>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// 2 rows of 70 columns, a word and six bits each.
SparseTensor packed() {
  return pack(from_coordinates(2, 70, {0, 0, 0, 0, 1}, {0, 31, 32, 69, 63},
                               Array::of(std::vector<float>{1, 2, 3, 4, 5}), "two rows"),
              formats::bitmap());
}

TEST(Bitmap, HasABitForEachEntry) {
  const SparseTensor tensor = packed();
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 3, 4, 5, 5));
  EXPECT_THAT(test::integers_of_i32(tensor, "bits"),
              ElementsAre(INT32_MIN + 1, 1, 32, 0, 0, INT32_MIN, 0, 0));
  std::vector<std::vector<std::int64_t>> visited;
  tensor.walk([&](std::int64_t row, std::int64_t column, std::int64_t place) {
    visited.push_back({row, column, place});
  });
  EXPECT_THAT(visited, ElementsAre(ElementsAre(0, 0, 0), ElementsAre(0, 31, 1), ElementsAre(0, 32, 2),
                                   ElementsAre(0, 69, 3), ElementsAre(1, 63, 4)));
}

TEST(Bitmap, RowsMayHaveAnOrder) {
  const WeightMatrix weights = random_matrix(40, 130, 0.2, 7);
  const SparseTensor tensor = pack(weights, parse_format("bitmap:order=length"));
  EXPECT_TRUE(tensor.has_array("row_order"));
  EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)));
}

TEST(Bitmap, CheckNamesWhatIsDamaged) {
  const SparseTensor tensor = packed();
  EXPECT_EQ(complaint(tensor), "none");
  EXPECT_THAT(complaint(damaged(tensor, "begin", 2, 2)),
              HasSubstr("row 0, column 64, begin[2] | offset 2 after 3"));
  EXPECT_THAT(complaint(damaged(tensor, "begin", 1, 4)),
              HasSubstr("row 0, column 0, bits[0] | 3 bits, and 4 values | a bit for each value"));
  EXPECT_THAT(complaint(damaged(tensor, "begin", 0, 1)), HasSubstr("begin[0] | 1 | 0"));
  EXPECT_THAT(complaint(damaged(tensor, "bits", 2, 64)),
              HasSubstr("row 0, column 64, bits[2] | column 70 | 0 to 69"));
  EXPECT_THAT(complaint(damaged(tensor, "bits", 0, 3)), HasSubstr("none"));
  EXPECT_THAT(complaint(damaged(tensor, "bits", 0, 1)), HasSubstr("2 bits, and 3 values"));
  EXPECT_THAT(complaint(with_array(tensor, "bits", Array(DType::i32, {6}))),
              HasSubstr("array bits | 6 elements | 8 elements"));
  EXPECT_THAT(complaint(with_array(tensor, "begin", Array(DType::i32, {4}))),
              HasSubstr("array begin | 4 elements | 5 elements"));
  EXPECT_THAT(complaint(with_array(tensor, "values", Array(DType::f32, {4}))),
              HasSubstr("array values | 4 elements | 5 elements"));
}

TEST(Bitmap, EveryOtherOffsetAndEveryFlippedBitIsFound) {
  const SparseTensor tensor = pack(random_matrix(5, 100, 0.3, 3), formats::bitmap());
  for (const char* name : {"begin", "bits"}) {
    const Array& array = tensor.array(name);
    for (std::int64_t i = 0; i < array.size(); ++i) {
      for (int bit = 0; bit < 32; ++bit) {
        const auto word = static_cast<std::uint32_t>(array.get_integer(i)) ^ std::uint32_t{1} << bit;
        EXPECT_NE(complaint(damaged(tensor, name, i, static_cast<std::int32_t>(word))), "none")
            << name << "[" << i << "], bit " << bit;
      }
    }
  }
}

}  // namespace
}  // namespace weft
