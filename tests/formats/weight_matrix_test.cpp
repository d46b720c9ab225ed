#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>

#include <limits>

#include "formats/damage.h"
#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WeightMatrix, GeneratedOnesKeepTheirInvariants) {
  for (const auto& [name, weights] : generated_matrices()) EXPECT_NO_THROW(weights.check()) << name;
}

TEST(WeightMatrix, FromDenseStoresWhatIsNotZeroOfEitherSign) {
  const WeightMatrix weights =
      from_dense(Array::of(std::vector<float>{0, -0.0F, 3, 0, 0, 1e-45F}).reshaped({2, 3}), "dense");
  EXPECT_THAT(weights.row_begin, ElementsAre(0, 1, 2));
  EXPECT_THAT(weights.column, ElementsAre(2, 2));
  EXPECT_DOUBLE_EQ(weights.sparsity(), 2.0 / 3);
}

TEST(WeightMatrix, FromDenseIsUndoneByToDense) {
  for (const auto& [name, weights] : generated_matrices()) {
    const Array dense = to_dense(weights);
    const Array again = to_dense(from_dense(dense, name));
    ASSERT_EQ(again.shape(), dense.shape()) << name;
    for (std::int64_t k = 0; k < dense.size(); ++k)
      ASSERT_EQ(again.get(k), dense.get(k)) << name << " at " << k;
  }
}

TEST(WeightMatrix, DimensionsBeyondTheFirstAreColumns) {
  Array filter(DType::f16, {2, 3, 2, 2});
  filter.set(12 + 7, 5);
  const WeightMatrix weights = from_dense(filter, "filter");
  EXPECT_THAT(weights.shape, ElementsAre(2, 3, 2, 2));
  EXPECT_EQ(weights.rows, 2);
  EXPECT_EQ(weights.columns, 12);
  EXPECT_THAT(weights.column, ElementsAre(7));
  const WeightMatrix row = from_dense(Array(DType::f32, {7}), "vector");
  EXPECT_EQ(row.rows, 1);
  EXPECT_EQ(row.columns, 7);
  EXPECT_THAT(message_of([] { from_dense(Array(DType::f32, std::vector<std::int64_t>{}), "scalar"); }),
              HasSubstr("at least one dimension"));
}

TEST(WeightMatrix, CoordinatesAreSortedAndSummed) {
  const WeightMatrix weights = from_coordinates(3, 4, {2, 0, 2, 0, 2}, {3, 1, 0, 1, 3},
                                                Array::of(std::vector<float>{1, 2, 3, 4, 8}), "coordinates");
  EXPECT_THAT(weights.row_begin, ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(weights.column, ElementsAre(1, 0, 3));
  EXPECT_EQ(weights.values.get(0), 6);
  EXPECT_EQ(weights.values.get(2), 9);
}

TEST(WeightMatrix, IntegersAreSummedExactly) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const WeightMatrix weights = from_coordinates(
      1, 2, {0, 0, 0}, {1, 1, 0}, Array::of(std::vector<std::int64_t>{large, 2, large}), "large");
  EXPECT_EQ(weights.values.get_integer(0), large);
  EXPECT_EQ(weights.values.get_integer(1), large + 2);
  EXPECT_THAT(message_of([] {
                from_coordinates(1, 1, {0, 0}, {0, 0}, Array::of(std::vector<std::int8_t>{100, 100}),
                                 "small");
              }),
              AllOf(HasSubstr("row 0, column 0"), HasSubstr("does not fit i8")));
}

TEST(WeightMatrix, CoordinatesOutOfRangeAreRefused) {
  const Array one = Array::of(std::vector<float>{1});
  for (const auto& [row, column] : {std::pair{2, 0}, {-1, 0}, {0, 3}, {0, -1}}) {
    EXPECT_THAT(message_of([&] { from_coordinates(2, 3, {row}, {column}, one, "file.mtx"); }),
                AllOf(HasSubstr("file.mtx"), HasSubstr("entry 0")));
  }
  EXPECT_THAT(message_of([&] { from_coordinates(2, 3, {0, 1}, {0}, one, "file.mtx"); }),
              HasSubstr("as many of each"));
  EXPECT_THAT(message_of([&] { from_coordinates(std::int64_t{1} << 31, 3, {}, {}, Array(), "file.mtx"); }),
              HasSubstr("2147483648 rows"));
}

TEST(WeightMatrix, CheckNamesTheFirstRowThatIsWrong) {
  const WeightMatrix good = random_matrix(6, 9, 0.5, 4);
  const auto complaint = [&](const auto& change) {
    WeightMatrix weights = good;
    change(weights);
    return message_of([&] { weights.check(); });
  };
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.row_begin[3] = w.row_begin[2] - 1; }), HasSubstr("row 2"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.row_begin[1] = 1000; }), HasSubstr("row 0"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.row_begin.pop_back(); }), HasSubstr("row offsets"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.row_begin.clear(); }), HasSubstr("row offsets"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.column.back() = 9; }), HasSubstr("columns 0 to 8"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.column[0] = -1; }), HasSubstr("row 0, entry 0"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.column[1] = w.column[0]; }), HasSubstr("none twice"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.values = Array(DType::f32, {3}); }), HasSubstr("the values"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.shape = {6, 8}; }), HasSubstr("the shape"));
  EXPECT_THAT(complaint([](WeightMatrix& w) { w.rows = -1; }), HasSubstr("-1 rows"));
}

TEST(WeightMatrix, ConversionTellsTheLargestChange) {
  WeightMatrix weights = random_matrix(3, 3, 1, 1, DType::f64);
  weights.values.set(4, 1 + 0x1p-11 + 0x1p-40);  // just above the middle of two neighbours in f16
  double change = 0;
  const WeightMatrix narrow = converted(weights, DType::f16, &change);
  EXPECT_EQ(narrow.values.get(4), 1 + 0x1p-10);
  double expected = 0;
  for (std::int64_t i = 0; i < 9; ++i) {
    expected = std::max(expected, std::abs(narrow.values.get(i) - weights.values.get(i)));
  }
  EXPECT_EQ(change, expected);
  EXPECT_GE(change, 0x1p-11 - 0x1p-40);
  converted(weights, DType::f64, &change);
  EXPECT_EQ(change, 0);
}

TEST(WeightMatrix, RandomValuesAreNeverZeroAndInsideTheRange) {
  WeightMatrix pattern = random_matrix(200, 200, 0.9, 8);
  pattern.pattern_only = true;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const WeightMatrix weights = with_random_values(pattern, dtype, 77);
    EXPECT_FALSE(weights.pattern_only);
    EXPECT_EQ(weights.column, pattern.column);
    EXPECT_TRUE(same_bits(weights.values, with_random_values(pattern, dtype, 77).values));
    EXPECT_FALSE(same_bits(weights.values, with_random_values(pattern, dtype, 78).values));
    double sum = 0;
    for (std::int64_t i = 0; i < weights.stored(); ++i) {
      const double value = weights.values.get(i);
      ASSERT_TRUE(value >= -1 && value < 1 && value != 0) << name_of(dtype) << " " << value;
      sum += value;
    }
    EXPECT_NEAR(sum / static_cast<double>(weights.stored()), 0, 0.02);
  }
}

TEST(Array, StoresIntegersRoundedAndInsideTheirRange) {
  Array bytes(DType::i8, {6});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {2.5, 3.5, -1e300, 1e300, nan, -7.6};
  for (std::int64_t i = 0; i < 6; ++i) bytes.set(i, values[i]);
  const auto stored = bytes.as<std::int8_t>();
  EXPECT_THAT(std::vector<int>(stored.begin(), stored.end()), ElementsAre(2, 4, -128, 127, 0, -8));
  Array longs(DType::i64, {2});
  longs.set(0, 1e19);
  longs.set(1, -1e19);
  EXPECT_EQ(longs.get_integer(0), INT64_MAX);
  EXPECT_EQ(longs.get_integer(1), INT64_MIN);
  Array flags(DType::boolean, {2});
  flags.set(0, -0.5);
  EXPECT_EQ(flags.get(0), 1);
  EXPECT_EQ(flags.get(1), 0);
}

TEST(Array, RefusesWhatCannotBe) {
  EXPECT_THROW(Array(DType::f32, {-1}), UserError);
  EXPECT_THROW(Array(DType::f32, {std::int64_t{1} << 32, std::int64_t{1} << 32}), UserError);
  EXPECT_THROW(Array(DType::f64, {std::int64_t{1} << 61}), UserError);
  const Array array(DType::f32, {2});
  EXPECT_THROW(array.as<double>(), InternalError);
  EXPECT_THROW(array.get_integer(0), InternalError);
}

}  // namespace
}  // namespace weft
