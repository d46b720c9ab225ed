#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/structure.h>

#include <limits>
#include <tuple>
#include <utility>

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

TEST(WeightMatrix, TheFirstDimensionsTogetherMayBeTheRows) {
  Array dense(DType::f32, {2, 3, 4});
  for (std::int64_t i = 0; i < 24; ++i) dense.set(i, i % 5 == 0 ? 0 : static_cast<double>(i));
  for (const auto& [dimensions, rows, columns] : {std::tuple{1, 2, 12}, {2, 6, 4}}) {
    const WeightMatrix weights = from_dense(dense, "made", dimensions);
    const WeightMatrix again = with_row_dimensions(from_dense(dense, "made"), dimensions);
    for (const WeightMatrix& made : {weights, again, with_row_dimensions(again, dimensions)}) {
      EXPECT_NO_THROW(made.check());
      EXPECT_THAT(made.shape, ElementsAre(2, 3, 4));
      EXPECT_EQ(made.rows, rows);
      EXPECT_EQ(made.columns, columns);
      EXPECT_TRUE(same_bits(to_dense(made).reshaped({2, 3, 4}), dense));
    }
  }
  for (const std::int64_t dimensions : {-1, 0, 3}) {
    EXPECT_THAT(message_of([&] { from_dense(dense, "made", dimensions); }),
                AllOf(HasSubstr("weight_matrix_test.cpp:"), HasSubstr("of the 3 of [2, 3, 4]"),
                      HasSubstr("row_dimensions from 1 to 2")));
  }
  EXPECT_THAT(message_of([] { from_dense(Array(DType::f32, {4, 4}), "made", 2); }),
              HasSubstr("row_dimensions = 1"));
  EXPECT_EQ(with_row_dimensions(from_dense(Array(DType::f32, {0, 3, 4}), "made"), 2).columns, 4);
}

TEST(WeightMatrix, RowsAndColumnsMakeUpTheShape) {
  WeightMatrix weights = random_matrix(6, 4, 0.5, 4);
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{6, 4}, {2, 3, 4}, {6, 2, 2}, {6, 1, 4}, {3, 2, 2, 2}}) {
    weights.shape = shape;
    EXPECT_NO_THROW(weights.check()) << text_of_shape(shape);
  }
  // As many elements, but none of them would be where the shape says.
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{4, 6}, {24}, {2, 12}, {4, 3, 2}, {}, {6, 4, 0}}) {
    weights.shape = shape;
    EXPECT_THAT(message_of([&] { pack(weights, formats::csr()); }),
                AllOf(HasSubstr("weight_matrix_test.cpp:"), HasSubstr("for 6 rows and 4 columns"),
                      HasSubstr("as [6, 4] has")))
        << text_of_shape(shape);
  }
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
  WeightMatrix without_offsets = good;
  without_offsets.row_begin.clear();
  EXPECT_THAT(message_of([&] { to_dense(without_offsets); }), HasSubstr("row offsets"));
  EXPECT_THAT(message_of([&] { statistics(without_offsets); }), HasSubstr("row offsets"));
  EXPECT_THAT(message_of([&] { find_structures(without_offsets); }), HasSubstr("row offsets"));
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
  EXPECT_THAT(message_of([&] { array.as<double>(); }),
              AllOf(HasSubstr("weight_matrix_test.cpp:"), HasSubstr("f64, of an array of f32 [2]")));
  EXPECT_THAT(message_of([&] { array.get_integer(0); }), HasSubstr("as integers"));
  for (const std::int64_t index : {-1, 2})
    EXPECT_THAT(message_of([&] { array.get(index); }), HasSubstr("0 to 1")) << index;
  EXPECT_THAT(message_of([&] { Array(array).set(2, 1); }), HasSubstr("element 2 of an array of [2]"));
  EXPECT_THAT(message_of([&] { Array(array).reshaped({3}); }), HasSubstr("the 2 elements of [2]"));
}

TEST(Array, LeavesNothingBehindWhereItIsMoved) {
  Array first(DType::f64, {3});
  Array second = std::move(first);
  EXPECT_EQ(first.size(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.bytes(), 0U);
  EXPECT_THAT(message_of([&] { first.get(0); }), HasSubstr("an array with elements"));
  first = std::move(second);
  EXPECT_EQ(first.size(), 3);
  EXPECT_EQ(second.size(), 0);  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace weft
