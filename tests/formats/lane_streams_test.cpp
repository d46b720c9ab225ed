// lane_streams and pair_words: what lies where, odd shapes, lanes that would fall behind, and what is found
// wrong in them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/lane_streams.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>

#include <bit>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Eight rows with columns 0, 1 and 9, eight with column 0 and eight with column 2, so that no order of
/// theirs is better: values say row and column.
WeightMatrix rows_in_order() {
  std::vector<std::int64_t> rows, columns;
  std::vector<float> values;
  const auto add = [&](std::int64_t row, std::int64_t column) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(static_cast<float>(100 * row + column + 1));
  };
  for (std::int64_t row = 0; row < 8; ++row) {
    for (const std::int64_t column : {0, 1, 9}) add(row, column);
  }
  for (std::int64_t row = 8; row < 16; ++row) add(row, 0);
  for (std::int64_t row = 16; row < 24; ++row) add(row, 2);
  return from_coordinates(24, 64, rows, columns, Array::of(values), "small");
}

float value(const SparseTensor& tensor, std::int64_t row, std::int64_t lane, std::int64_t element) {
  return tensor.array("values").as<float>()[(row * lanes_of_stream + lane) * elements_of_lane + element];
}

/// Lane 4 (row % 8) + column / 8: of the first eight columns of a row, and of row + 8 behind it; a lane's
/// tiles of 16 rows and four columns one after the other.
TEST(LaneStreams, LanesTakeTheirFragments) {
  const SparseTensor tensor = pack(rows_in_order(), formats::lane_streams(64));
  const auto bits = tensor.array("bits").as<std::int32_t>();
  EXPECT_EQ(bits[0], 1 << 0 | 1 << 1 | 1 << 6 | 1 << 16)
      << "rows 0 and 8, column 0; row 16, column 2; row 0, column 1";
  EXPECT_EQ(bits[1], 1 << 16) << "row 0, column 9";
  EXPECT_EQ(bits[4], bits[0]) << "row 1 and those behind it";
  EXPECT_EQ(value(tensor, 0, 0, 0), 1);
  EXPECT_EQ(value(tensor, 1, 0, 0), 801);
  EXPECT_EQ(value(tensor, 2, 0, 0), 1603);
  EXPECT_EQ(value(tensor, 0, 0, 1), 2);
  EXPECT_EQ(value(tensor, 0, 1, 1), 10);
  EXPECT_EQ(value(tensor, 0, 4, 0), 101);
}

TEST(LaneStreams, PairsAreStoredTogether) {
  const SparseTensor tensor = pack(rows_in_order(), formats::pair_words(64));
  const auto bits = tensor.array("bits").as<std::int32_t>();
  EXPECT_EQ(bits[0], 1 << 0 | 1 << 1 | 1 << 6);
  EXPECT_EQ(value(tensor, 0, 0, 0), 1);
  EXPECT_EQ(value(tensor, 0, 0, 1), 2);
  EXPECT_EQ(value(tensor, 1, 0, 0), 801);
  EXPECT_EQ(value(tensor, 1, 0, 1), 0);
}

/// Four rows in full that would go to the same lanes go to other ones each.
TEST(LaneStreams, RowsAreDealtToLanes) {
  std::vector<std::int64_t> rows, columns;
  for (const std::int64_t row : {0, 8, 16, 24}) {
    for (std::int64_t column = 0; column < 512; ++column) {
      rows.push_back(row);
      columns.push_back(column);
    }
  }
  const WeightMatrix weights =
      from_coordinates(32, 512, rows, columns, Array::of(std::vector<float>(rows.size(), 1)), "four rows");
  for (const char* format : {"lane_streams", "pair_words"}) {
    const SparseTensor tensor = pack(weights, parse_format(format));
    EXPECT_EQ(tensor.array("begin").as<std::int32_t>()[1], 512 / 4 / 2) << format;
    EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights))) << format;
  }
}

/// One stream for several groups of rows is filled up once.
TEST(LaneStreams, StreamsGoOnThroughGroups) {
  const WeightMatrix weights =
      synthetic_layer({.rows = 384, .columns = 1024, .sparsity = 0.6, .dtype = DType::f16, .seed = 5});
  for (const char* format : {"lane_streams", "pair_words"}) {
    double last = 2;
    for (const std::int64_t groups : {1, 2, 6, 12}) {
      const SparseTensor tensor =
          pack(weights, parse_format(fmt::format("{}:columns=512,groups={}", format, groups)));
      const auto bits = tensor.array("bits").as<std::int32_t>();
      std::int64_t taken = 0;
      for (const std::int32_t word : bits) taken += std::popcount(static_cast<std::uint32_t>(word));
      const std::int64_t of_place = format[0] == 'l' ? 1 : 2;
      const double filled =
          static_cast<double>(tensor.array("values").size()) / static_cast<double>(taken * of_place);
      EXPECT_LT(filled, last) << format << ", " << groups << " groups";
      last = filled;
    }
    EXPECT_LT(last, 1.05) << format;
  }
}

TEST(LaneStreams, GiveBackEveryOddShape) {
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {1, 7, 33, 64}) {
    for (const std::int64_t columns : {1, 9, 63, 65, 1000}) {
      for (const double sparsity : {0.0, 0.5, 0.97, 1.0}) {
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
          const WeightMatrix weights = synthetic_layer(
              {.rows = rows, .columns = columns, .sparsity = sparsity, .dtype = dtype, .seed = ++seed});
          for (const char* format : {"lane_streams:columns=64,groups=3", "lane_streams",
                                     "pair_words:columns=128", "pair_words:columns=4096,groups=2"}) {
            const SparseTensor tensor = pack(weights, parse_format(format));
            EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)))
                << format << ", " << rows << " x " << columns << ", " << sparsity;
            EXPECT_EQ(complaint(tensor), "none");
          }
        }
      }
    }
  }
}

/// Of one row in full, and of rows whose lanes come late, what others have taken does not run away.
TEST(LaneStreams, NoLaneFallsFarBehind) {
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t column = 0; column < 2000; ++column) {
    rows.push_back(column < 1000 ? 3 : 12);
    columns.push_back(column);
  }
  const WeightMatrix weights =
      from_coordinates(32, 2000, rows, columns, Array::of(std::vector<float>(2000, 1)), "uneven");
  for (const char* format : {"lane_streams:columns=2048", "pair_words:columns=2048"}) {
    const SparseTensor tensor = pack(weights, parse_format(format));
    EXPECT_EQ(complaint(tensor), "none");
    EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights))) << format;
    const auto before = tensor.array("before").as<std::int32_t>();
    const std::size_t of_step = before.size() / (2048 / (format[0] == 'l' ? 32 : 64));
    for (std::size_t step = 0; step < before.size(); step += of_step) {
      const auto [least, most] = std::ranges::minmax(before.subspan(step, of_step));
      EXPECT_LE(most - least, most_rows_ahead);
    }
  }
}

/// What is said without packing: all but what kernels do not get.
TEST(LaneStreams, BytesAreCounted) {
  const WeightMatrix weights =
      synthetic_layer({.rows = 130, .columns = 1300, .sparsity = 0.6, .dtype = DType::f16, .seed = 3});
  const Statistics found = statistics(weights);
  const auto bytes = [&](const Format& format) {
    const SparseTensor tensor = pack(weights, format);
    return static_cast<std::int64_t>(tensor.bytes() - tensor.array("before").bytes());
  };
  EXPECT_EQ(found.bytes_lane_streams, bytes(formats::lane_streams()));
  EXPECT_EQ(found.bytes_pair_words, bytes(formats::pair_words()));
  EXPECT_LT(found.bytes_lane_streams, found.bytes_pair_words);
  EXPECT_EQ(
      statistics(synthetic_layer({.rows = 64, .columns = 64, .sparsity = 0.95, .seed = 3})).bytes_pair_words,
      0);
}

TEST(LaneStreams, ParametersAndDamageAreSaid) {
  for (const char* format :
       {"lane_streams:columns=32", "pair_words:columns=100", "pair_words:columns=2097152",
        "lane_streams:index=16", "lane_streams:groups=0", "pair_words:groups=65"})
    EXPECT_THROW(static_cast<void>(pack(rows_in_order(), parse_format(format))), UserError) << format;
  for (const Format& format : {formats::lane_streams(64), formats::pair_words(64)}) {
    const SparseTensor tensor = pack(rows_in_order(), format);
    EXPECT_EQ(complaint(tensor), "none");
    EXPECT_NE(complaint(damaged(tensor, "bits", 0, 255)), "none");
    EXPECT_THAT(complaint(damaged(tensor, "begin", 1, 9)), HasSubstr("begin[1]"));
    EXPECT_THAT(complaint(damaged(tensor, "before", 3, 1)), HasSubstr("before[3]"));
    EXPECT_THAT(complaint(damaged(tensor, "row_order", 2, 24)), HasSubstr("row_order[2]"));
    EXPECT_NE(complaint(damaged(tensor, "row_order", 2, 3)), "none");
  }
  const SparseTensor tensor = pack(rows_in_order(), formats::pair_words(64));
  EXPECT_THAT(complaint(damaged(tensor, "bits", 0, 255)),
              AllOf(HasSubstr("begin[1]"), HasSubstr("the most bits")));
  EXPECT_THAT(complaint(damaged(tensor, "bits", 7, -1)), HasSubstr("32"));
}

}  // namespace
}  // namespace weft
