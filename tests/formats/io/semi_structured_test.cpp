// 2:4 weights as PyTorch's CUTLASS tensors hold them: the order of the words is that in which tensor cores
// take them, which the files made here follow.
#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/random.h>

#include <array>
#include <functional>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using testing::expect_refused;

using Words = std::vector<std::vector<std::uint32_t>>;  ///< by row and column of words

/// What lanes load: of every 32 rows (16 for 32-bit words) and two columns of words, for each of eight rows
/// the words of the rows eight further on, column after column, sixteen rows after the other.
template <class Word>
std::string in_lane_order(const Words& words) {
  const std::size_t bundle = sizeof(Word) == 2 ? 32 : 16;
  std::vector<Word> result;
  for (std::size_t column = 0; column < words[0].size(); column += 2) {
    for (std::size_t first = 0; first < words.size(); first += bundle) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        for (std::size_t tile = 0; tile < bundle; tile += 16) {
          for (const std::size_t of_pair : {0, 1}) {
            for (const std::size_t half : {0, 8})
              result.push_back(static_cast<Word>(words[first + tile + lane + half][column + of_pair]));
          }
        }
      }
    }
  }
  return elements(result);
}

struct Parts {
  std::string dtype = "F16";
  std::string meta_dtype = "I16";
  std::vector<std::int64_t> packed_shape;
  std::vector<std::int64_t> meta_shape;
  std::string packed;
  std::string meta;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

std::string file_of(const Parts& parts) {
  std::string header = R"({"fc.weight.packed":{"dtype":")" + parts.dtype + R"(","shape":)" +
                       shape_text(parts.packed_shape) + R"(,"data_offsets":[0,)" +
                       std::to_string(parts.packed.size()) + R"(]},"fc.weight.meta":{"dtype":")" +
                       parts.meta_dtype + R"(","shape":)" + shape_text(parts.meta_shape) +
                       R"(,"data_offsets":[)" + std::to_string(parts.packed.size()) + "," +
                       std::to_string(parts.packed.size() + parts.meta.size()) + "]}}";
  return testing::safetensors(header, parts.packed + parts.meta);
}

WeightMatrix read_parts(const Parts& parts, const std::string& name = {}) {
  const std::string file = file_of(parts);
  WeightMatrix matrix = io::weights_among(io::parse_safetensors_header(bytes_of(file), "a.safetensors"),
                                          "a.safetensors", {.tensor = name});
  matrix.check();
  return matrix;
}

/// A weight whose groups keep random pairs; values count up from 1, a few of them being 0.
template <class Word>
struct Example {
  Parts parts;
  Words words;
  std::vector<std::int32_t> column;  ///< row by row

  Example(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    constexpr std::array<std::array<std::int32_t, 2>, 6> pairs{
        {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};
    constexpr std::int64_t columns_of_word = 8 * sizeof(Word);
    Random random(seed);
    words.assign(static_cast<std::size_t>(rows),
                 std::vector<std::uint32_t>(static_cast<std::size_t>(columns / columns_of_word)));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t group = 0; group < columns / 4; ++group) {
        const auto& pair = pairs[static_cast<std::size_t>(random.below(6))];
        for (const std::int32_t place : pair) column.push_back(static_cast<std::int32_t>(4 * group) + place);
        const auto code = static_cast<std::uint32_t>(pair[0] | pair[1] << 2);
        words[static_cast<std::size_t>(row)][static_cast<std::size_t>(4 * group / columns_of_word)] |=
            code << (4 * group % columns_of_word);
      }
    }
    parts.packed_shape = {rows, columns / 2};
    parts.meta_shape = {rows, columns / columns_of_word};
    parts.meta = in_lane_order<Word>(words);
  }
};

Example<std::uint16_t> halves(std::int64_t rows, std::int64_t columns) {
  Example<std::uint16_t> example(rows, columns, 7);
  std::vector<std::uint16_t> values;  // finite as f16 and as bf16: small exponents
  for (std::int64_t i = 0; i < rows * columns / 2; ++i)
    values.push_back(static_cast<std::uint16_t>(i % 5 == 0 ? 0 : 0x3000 + i % 0x800));
  example.parts.packed = elements(values);
  return example;
}

TEST(SemiStructured, HalvesOfEveryPair) {
  for (const auto& [rows, columns] : {std::pair(32, 64), std::pair(96, 64), std::pair(64, 256)}) {
    for (const std::string dtype : {"F16", "BF16"}) {
      SCOPED_TRACE(dtype + " " + std::to_string(rows) + " x " + std::to_string(columns));
      Example<std::uint16_t> example = halves(rows, columns);
      example.parts.dtype = dtype;
      const WeightMatrix matrix = read_parts(example.parts);
      EXPECT_EQ(matrix.rows, rows);
      EXPECT_EQ(matrix.columns, columns);
      EXPECT_EQ(matrix.column, example.column);
      EXPECT_EQ(matrix.values.dtype(), dtype == "F16" ? DType::f16 : DType::bf16);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(matrix.values.data()), matrix.values.bytes()),
                example.parts.packed);  // the zeros too: they are stored
      EXPECT_EQ(matrix.origin, "a.safetensors:fc.weight");
    }
  }
}

TEST(SemiStructured, BytesHaveWiderWords) {
  Example<std::uint32_t> example(48, 128, 3);
  std::vector<std::int8_t> values;
  for (int i = 0; i < 48 * 64; ++i) values.push_back(static_cast<std::int8_t>(i % 251 - 125));
  example.parts.packed = elements(values);
  example.parts.dtype = "I8";
  example.parts.meta_dtype = "I32";
  const WeightMatrix matrix = read_parts(example.parts, "fc.weight");
  EXPECT_EQ(matrix.column, example.column);
  EXPECT_EQ(matrix.values.get(1), -124);
}

TEST(SemiStructured, WordsStandWhereCutlassPutsThem) {
  // Published places of words of 32 rows: (row, column of words) and the place in memory.
  struct Spot {
    std::int32_t row;
    std::int32_t column;
    std::size_t place;
  };
  for (const Spot spot : {Spot{0, 0, 0}, Spot{8, 0, 1}, Spot{0, 1, 2}, Spot{8, 1, 3}, Spot{16, 0, 4},
                          Spot{1, 0, 8}, Spot{0, 2, 64}}) {
    Parts parts = halves(32, 64).parts;
    std::vector<std::uint16_t> words(32 * 4, 0xEEEE);
    words[spot.place] = 0x4444;
    parts.meta = elements(words);
    const WeightMatrix matrix = read_parts(parts);
    for (std::int32_t row = 0; row < 32; ++row) {
      for (std::int32_t i = 0; i < 32; ++i) {
        const bool other = row == spot.row && i / 8 == spot.column;
        const std::int32_t group = 4 * (i / 2);
        EXPECT_EQ(matrix.column[static_cast<std::size_t>(32 * row + i)], group + i % 2 + (other ? 0 : 2));
      }
    }
  }
}

TEST(SemiStructured, RefusesCodesThatAreNoPairs) {
  for (const std::uint32_t code : {0x0U, 0x1U, 0x2U, 0x3U, 0x5U, 0x6U, 0x7U, 0xAU, 0xBU, 0xFU}) {
    Example<std::uint16_t> example = halves(32, 128);
    std::uint32_t& word = example.words[13][5];
    word = (word & ~0xF00U) | code << 8;
    example.parts.meta = in_lane_order<std::uint16_t>(example.words);
    const std::string found = "code 0x" + std::string(1, "0123456789abcdef"[code]);
    expect_refused([&] { read_parts(example.parts); },
                   {"tensor \"fc.weight.meta\"", found.c_str(), "row 13, columns 88 to 91", "ascending"});
  }
}

TEST(SemiStructured, RefusesPartsThatDoNotFit) {
  const auto refuse = [](const std::function<void(Parts&)>& change,
                         std::initializer_list<const char*> words) {
    Parts parts = halves(32, 64).parts;
    change(parts);
    expect_refused([&] { read_parts(parts); }, words);
  };
  refuse([](Parts& parts) { parts.meta_dtype = "U16"; }, {"fc.weight.meta", "U16 [32, 4]", "I16 [32, 4]"});
  refuse([](Parts& parts) { parts.meta_shape = {16, 8}; }, {"I16 [16, 8]", "I16 [32, 4]"});
  refuse([](Parts& parts) { parts.dtype = "I16"; }, {"fc.weight.packed", "I16", "F16, BF16 or I8"});
  refuse([](Parts& parts) { parts.packed_shape = {64, 16}; }, {"I16 [32, 4]", "I16 [64, 2]"});
  refuse([](Parts& parts) { parts.packed_shape = {16, 64}; },
         {"16 rows and 128 columns", "32 rows and 32 columns"});
  refuse(
      [](Parts& parts) {
        parts.packed[2] = '\x00';
        parts.packed[3] = '\x7C';
      },
      {"tensor \"fc.weight.packed\", value 1, byte", "inf"});
  Parts parts = halves(32, 64).parts;
  expect_refused([&] { read_parts(parts, "fc.weight.packed"); }, {"no tensor named", "\"fc.weight\" F16"});
}

}  // namespace
}  // namespace weft
