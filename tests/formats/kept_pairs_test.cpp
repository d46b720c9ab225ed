// n_m and v_n_m: where values, columns and codes lie, at every group and block and odd shapes; what they
// refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/value_place.h>

#include <array>

#include "formats/damage.h"
#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<std::int64_t, 8> blocks_of_columns{4, 8, 10, 16, 20, 32, 40, 100};
constexpr std::array<std::int64_t, 5> rows_of_groups{16, 32, 64, 128, 256};

std::vector<Format> formats_of(std::int64_t rows) {
  std::vector<Format> formats;
  for (const std::int64_t places : {64, 128}) {
    formats.push_back(formats::n_m({.rows = rows, .places = places}));
    formats.push_back(formats::column_quads({.rows = rows, .places = places}));
    for (const std::int64_t columns : blocks_of_columns)
      formats.push_back(formats::v_n_m({.rows = rows, .columns = columns, .places = places}));
  }
  return formats;
}

TEST(KeptPairs, GiveBackEveryOddShapeAtEverySize) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1, 1}, {1, 203}, {7, 9}, {16, 64}, {31, 65}, {33, 127}, {129, 101}, {200, 40}, {65, 3}};
  const std::vector<DType> types{DType::f16, DType::f32, DType::bf16, DType::f64};
  std::size_t count = 0;
  for (const std::int64_t rows : rows_of_groups) {
    for (const Format& format : formats_of(rows)) {
      const auto& [height, width] = shapes[count % shapes.size()];
      for (const double density : {0.05, 0.5, 1.0}) {
        const WeightMatrix weights =
            fitted(random_matrix(height, width, density, count, types[count % types.size()]), format);
        ++count;
        EXPECT_TRUE(same_bits(pack(weights, format).to_dense(), to_dense(weights)))
            << format.text() << ", " << height << " x " << width;
      }
    }
  }
}

/// Lines of 128 bytes have twice as many places where an element has one.
TEST(KeptPairs, BytesFillLonger) {
  const Format format = formats::n_m({.rows = 64, .places = 256});
  for (const DType type : {DType::e4m3, DType::e5m2}) {
    const WeightMatrix weights = fitted(random_matrix(70, 523, 0.7, 4, type), format);
    const SparseTensor tensor = pack(weights, format);
    EXPECT_THAT(tensor.array("values").shape(), ElementsAre(6, 64, 128));
    EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)));
  }
  EXPECT_THROW(pack(fitted(random_matrix(70, 523, 0.7, 4, DType::f16), formats::n_m()), format), UserError);
}

/// Fours of columns of which each row has two: a full row has half of them to itself, and of one weight in
/// ten, at any places, nearly all columns find three others.
TEST(ColumnQuads, HoldAnyWeightsInFewFours) {
  const auto fours = [](const WeightMatrix& weights, std::int64_t rows) {
    const SparseTensor tensor = pack(weights, formats::column_quads({.rows = rows}));
    EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)));
    std::int64_t listed = 0;
    const Array& column = tensor.array("column");
    for (std::int64_t i = 0; i < column.size(); i += slots_of_quad) {
      bool any = false, ascend = true;
      for (std::int64_t slot = 0; slot < slots_of_quad; ++slot) {
        const std::int64_t number = column.get_integer(i + slot);
        any = any || number >= 0;
        ascend = ascend && (slot == 0 || number < 0 || number > column.get_integer(i + slot - 1));
      }
      EXPECT_TRUE(ascend) << i;
      listed += any ? 1 : 0;
    }
    return listed;
  };
  const auto drawn = [](double density) { return random_matrix(256, 400, density, 7, DType::f16); };
  EXPECT_EQ(fours(drawn(1.0), 64), 4 * 200);
  EXPECT_LE(fours(drawn(0.1), 256), 120);
  EXPECT_LE(fours(drawn(0.1), 64), 4 * 105);
  EXPECT_LE(fours(drawn(0.02), 32), 8 * 55);
  // Places that fill up a row are no entries where the weights are packed anew.
  const SparseTensor tensor = pack(drawn(0.02), formats::column_quads({.rows = 128}));
  EXPECT_EQ(repack(tensor, formats::column_quads({.rows = 32})).array("column").size(),
            pack(drawn(0.02), formats::column_quads({.rows = 32})).array("column").size());
  // Groups have as many fours as they need: one row that is full, and none.
  std::vector<std::int64_t> rows(400, 3), columns(400);
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<std::int64_t>(i);
  Array values(DType::f16, {400});
  for (std::int64_t i = 0; i < 400; ++i) values.set(i, 1);
  const WeightMatrix one_row = from_coordinates(128, 400, rows, columns, values, "one row");
  EXPECT_EQ(fours(one_row, 64), 200);
  EXPECT_EQ(pack(one_row, formats::column_quads({.rows = 64})).array("begin").get_integer(2), 13);
}

TEST(KeptPairs, GiveBackWhatHasNoRowsOrColumns) {
  for (const auto& [rows, columns] : {std::pair{0, 5}, {5, 0}, {0, 0}, {70, 1}}) {
    const WeightMatrix weights = from_coordinates(rows, columns, {}, {}, Array(DType::f16, {0}), "empty");
    for (const Format& format : formats_of(64))
      EXPECT_TRUE(same_bits(pack(weights, format).to_dense(), to_dense(weights))) << format.text();
  }
}

TEST(KeptPairs, RepackInOtherGroups) {
  const Format format = formats::v_n_m({.rows = 64, .columns = 10});
  const WeightMatrix weights = fitted(random_matrix(150, 77, 0.6, 5, DType::f16), format);
  const SparseTensor tensor = pack(weights, format);
  for (const Format& other : {formats::v_n_m({.rows = 16, .columns = 10, .places = 128}), formats::csr()})
    EXPECT_TRUE(same_bits(repack(tensor, other).to_dense(), to_dense(weights)));
  const SparseTensor again = repack(tensor, format);
  for (const char* array : {"column", "metadata", "values"})
    EXPECT_TRUE(same_bits(tensor.array(array), again.array(array))) << array;
}

TEST(KeptPairs, SignedAndExplicitZerosStay) {
  const WeightMatrix weights =
      from_coordinates(1, 8, {0, 0, 0}, {1, 2, 7}, Array::of(std::vector<float>{-0.0F, 0.0F, 3}), "zeros");
  const SparseTensor tensor = pack(weights, formats::n_m());
  EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)));
  std::vector<std::int64_t> columns;
  tensor.walk([&](std::int64_t, std::int64_t column, std::int64_t) { columns.push_back(column); });
  EXPECT_THAT(columns, ElementsAre(1, 2, 6, 7));
}

/// What lane l holds: PTX ISA, m16n8k32, selector 0 for the first 32 slots, 1 for the others.
TEST(KeptPairs, CodesLieAsTheLanesOfAWarpHoldThem) {
  const Format format = formats::v_n_m({.rows = 32, .columns = 16, .places = 128});
  const WeightMatrix weights = fitted(random_matrix(90, 16 * 70, 0.4, 9, DType::f16), format);
  const SparseTensor tensor = pack(weights, format);
  const auto words = tensor.array("metadata").as<std::int32_t>();
  const auto columns = tensor.array("column").as<std::int32_t>();
  ASSERT_THAT(tensor.array("metadata").shape(), ElementsAre(3 * 3, 2, 2, 32));
  EXPECT_THAT(tensor.array("values").shape(), ElementsAre(3 * 3, 32, 64));
  EXPECT_EQ(tensor.value_order().swizzle, 3);
  const Array dense = to_dense(weights);
  const Array& values = tensor.array("values");
  for (std::int64_t block = 0; block < 9; ++block) {
    for (std::int64_t lane = 0; lane < 32; ++lane) {
      for (std::int64_t step = 0; step < 4; ++step) {  // a step has 32 slots
        for (std::int64_t tile = 0; tile < 2; ++tile) {
          const auto word = static_cast<std::uint32_t>(
              words[static_cast<std::size_t>(((block * 2 + tile) * 2 + step / 2) * 32 + lane)]);
          if (lane % 4 / 2 != step % 2) continue;
          for (std::int64_t half = 0; half < 2; ++half) {
            const std::int64_t row = tile * 16 + lane / 4 + 8 * half;
            for (std::int64_t nibble = 0; nibble < 4; ++nibble) {
              const std::uint32_t code = word >> (16 * half + 4 * nibble) & 15U;
              const std::int64_t quad = step * 8 + lane % 2 * 4 + nibble;
              for (std::int64_t kept = 0; kept < 2; ++kept) {
                const auto slot = static_cast<std::size_t>(
                    block * 128 + 4 * quad + static_cast<std::int64_t>(code >> (2 * kept) & 3U));
                const std::int64_t at = (block * 32 + row) * 64 + 2 * quad + kept;
                const double value = values.get(swizzled_place(at, 2, 3));
                const std::int64_t of_weight = block / 3 * 32 + row;
                if (columns[slot] < 0 || of_weight >= 90) {
                  ASSERT_EQ(value, 0);
                } else {
                  ASSERT_EQ(value, dense.get(of_weight * 1120 + columns[slot]));
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(KeptPairs, ListFourColumnsOfEachBlock) {
  const WeightMatrix weights = from_coordinates(3, 19, {0, 0, 1, 1, 2}, {2, 9, 3, 16, 18},
                                                Array::of(std::vector<float>{1, 2, 3, 4, 5}), "three rows");
  const SparseTensor tensor = pack(weights, formats::v_n_m({.rows = 16, .columns = 8}));
  const auto columns = tensor.array("column").as<std::int32_t>();
  ASSERT_EQ(columns.size(), 64U);
  EXPECT_THAT(columns.first(13), ElementsAre(2, 3, -1, -1, 9, -1, -1, -1, 16, 18, -1, -1, -1));
  EXPECT_EQ(static_cast<std::uint32_t>(tensor.array("metadata").as<std::int32_t>()[0]), 0xEEEEEECCU);
  EXPECT_FALSE(tensor.row_order().has_value());
  EXPECT_EQ(tensor.row_levels(), 2U);
}

TEST(KeptPairs, RefuseWeightsThatKeepMore) {
  Array dense(DType::f32, {128, 24});
  for (const std::int64_t column : {8, 9, 11}) dense.set(37 * 24 + column, 1);
  const WeightMatrix three = from_dense(dense, "weight of a test");
  EXPECT_THAT(message_of([&] { pack(three, formats::n_m()); }),
              HasSubstr("row 37 has 3 non-zeros in columns 8-11, at most 2 allowed"));
  EXPECT_THAT(message_of([&] { pack(three, formats::v_n_m({.rows = 64, .columns = 16})); }),
              HasSubstr("row 37 has 3 non-zeros in columns 0-15, at most 2 allowed"));
  for (std::int64_t i = 0; i < 5; ++i) dense.set(i * 24 + 17 + i, 1);
  EXPECT_THAT(
      message_of([&] { pack(from_dense(dense, "five"), formats::v_n_m({.rows = 64, .columns = 8})); }),
      HasSubstr("rows 0-63 keep 5 columns in columns 16-23, at most 4"));
  EXPECT_EQ(pack(from_dense(dense, "five"), formats::csr()).columns(), 24);
}

TEST(KeptPairs, RefuseSizesThatTheyDoNotHave) {
  const WeightMatrix weights = from_coordinates(4, 4, {0}, {0}, Array::of(std::vector<float>{1}), "one");
  for (const char* text :
       {"v_n_m:M=5", "v_n_m:M=0", "v_n_m:V=8", "v_n_m:V=48", "n_m:V=512", "n_m:k=32", "v_n_m:k=256"}) {
    EXPECT_THAT(message_of([&] { pack(weights, parse_format(text)); }), HasSubstr("out of range")) << text;
  }
  EXPECT_THAT(message_of([&] { pack(weights, parse_format("n_m:M=4")); }), HasSubstr("V, k"));
}

// ---- damage ----

/// Bit `bit` of word `word` of the codes turned over.
SparseTensor flipped(const SparseTensor& tensor, std::size_t word, int bit) {
  Array codes = tensor.array("metadata");
  codes.as<std::int32_t>()[word] ^= static_cast<std::int32_t>(1U << static_cast<unsigned>(bit));
  return with_array(tensor, "metadata", codes);
}

/// Every flip makes a code that is none, or moves a value: to a column that the group lacks, or within the
/// weight, which nothing stored can tell.
TEST(KeptPairs, CheckFindsEveryCodeThatIsNone) {
  const Format format = formats::v_n_m({.rows = 16, .columns = 8});
  const WeightMatrix weights = fitted(random_matrix(20, 150, 0.7, 3, DType::f16), format);
  const SparseTensor tensor = pack(weights, format);
  const auto words = tensor.array("metadata").as<std::int32_t>();
  int invalid = 0;
  for (std::size_t word = 0; word < words.size(); ++word) {
    for (int bit = 0; bit < 32; ++bit) {
      const std::uint32_t code = (static_cast<std::uint32_t>(words[word]) ^ 1U << bit) >> (bit / 4 * 4) & 15U;
      const bool valid = (code & 3U) < code >> 2;
      const std::string said = complaint(flipped(tensor, word, bit));
      if (!valid) {
        ASSERT_THAT(said, HasSubstr("ascending order")) << word << ", " << bit;
        ++invalid;
      } else {
        ASSERT_THAT(said, ::testing::Not(HasSubstr("ascending order"))) << word << ", " << bit;
      }
    }
  }
  EXPECT_GT(invalid, 1000);
}

TEST(KeptPairs, CheckNamesWhatIsDamaged) {
  const WeightMatrix weights = from_coordinates(20, 70, {0, 17, 17}, {0, 64, 66},
                                                Array::of(std::vector<f16>{f16(1), f16(2), f16(3)}), "three");
  const SparseTensor plain = pack(weights, formats::n_m({.rows = 16}));
  EXPECT_EQ(complaint(plain), "none");
  // Row 1 of the second group, block 1 of its columns: block 3, lane 4; its first code is 0x8.
  EXPECT_THAT(complaint(flipped(plain, 3 * 32 + 4, 3)),
              HasSubstr("row 17, column 64, metadata of block 3 | code 0x0, slots 0 and 0 | two slots in"));
  const SparseTensor grouped = pack(weights, formats::v_n_m({.rows = 16, .columns = 32}));
  EXPECT_THAT(complaint(flipped(grouped, 32 + 4, 8)),
              HasSubstr("row 17, column 64, metadata of block 1 | code 0x5, slots 1 and 1"));
  // Rows 20 to 31 fill up the second group.
  EXPECT_THAT(complaint(flipped(plain, 2 * 32 + 7 * 4, 0)), HasSubstr("of the last group"));
  // Behind column 69.
  Array values = plain.array("values");
  values.set(swizzled_place((16 + 0) * 32 + 3, 2, 2), 1);
  EXPECT_THAT(complaint(with_array(plain, "values", values)), HasSubstr("a value other than +0 in padding"));
  EXPECT_THAT(complaint(with_array(plain, "metadata", Array(DType::i32, {4, 1, 2, 16}))),
              HasSubstr("array metadata | shape [4, 1, 2, 16] | shape [4, 1, 1, 32]"));
  EXPECT_THAT(complaint(with_array(plain, "metadata", Array(DType::i32, {4}))),
              HasSubstr("array metadata | 4 elements | 128 elements"));
  std::vector<Level> levels = plain.levels();
  levels[1].extent = 8;
  EXPECT_THAT(complaint(SparseTensor(plain.format(), plain.shape(), 20, 70, levels, plain.arrays(),
                                     plain.value_order())),
              HasSubstr("level 3 | 8 rows of 32 kept places"));
  EXPECT_THAT(complaint(SparseTensor(plain.format(), plain.shape(), 20, 70, plain.levels(), plain.arrays(),
                                     {.levels = {2, 3, 1}})),
              HasSubstr("level 3 | values in another order than codes"));
}

}  // namespace
}  // namespace weft
