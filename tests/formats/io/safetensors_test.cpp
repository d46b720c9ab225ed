#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/io/safetensors_index.h>

#include <limits>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::number;
using ::testing::Pair;
using testing::safetensors;

std::vector<io::StoredTensor> header(const std::string& file) {
  return io::parse_safetensors_header(bytes_of(file), "a.safetensors");
}
WeightMatrix weights(const std::string& file, const std::string& name = {}, std::optional<DType> as = {}) {
  WeightMatrix matrix =
      io::weights_among(header(file), "a.safetensors", {.tensor = name, .reinterpret_as = as});
  matrix.check();
  return matrix;
}

const std::string two_by_two = R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
const std::string values = elements<float>({1, 0, 0, 2});

TEST(Safetensors, DenseWithZeros) {
  const WeightMatrix matrix = weights(safetensors(two_by_two, values));
  EXPECT_THAT(matrix.row_begin, ElementsAre(0, 1, 2));
  EXPECT_THAT(matrix.column, ElementsAre(0, 1));
  EXPECT_EQ(matrix.origin, "a.safetensors:w");
}

TEST(Safetensors, PackedWeightsAreNoLayer) {
  const std::string file = safetensors(R"({"A.begin":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},)"
                                       R"("A.values":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                                       values);
  expect_refused([&] { weights(file); }, {"the arrays of packed weights",
                                          "the file that they were packed from", "\"A.values\" F32 [2]"});
}

TEST(Safetensors, SeveralTensorsInAnyOrderWithMetadataAndPadding) {
  const std::string text =
      R"({"b":{"data_offsets":[16,20],"shape":[2],"dtype":"BF16"},"__metadata__":{"format":"pt"},
      "w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"e":{"dtype":"I8","shape":[0,3],"data_offsets":[20,20]},
      "s":{"dtype":"BOOL","shape":[],"data_offsets":[20,21]}}   )";
  const std::string file = safetensors(text, values + elements<std::uint16_t>({0x3F80, 0xC000}) + "\x01");
  EXPECT_EQ(header(file).size(), 4U);
  const Array bias = io::array_among(header(file), "a", {.tensor = "b"});
  EXPECT_EQ(bias.dtype(), DType::bf16);
  EXPECT_EQ(bias.get(1), -2);
  EXPECT_EQ(io::array_among(header(file), "a", {.tensor = "e"}).size(), 0);
  EXPECT_EQ(io::array_among(header(file), "a", {.tensor = "s"}).get(0), 1);
  EXPECT_EQ(weights(file, "w").stored(), 2);
  expect_refused([&] { weights(file, "x"); },
                 {"no tensor named \"x\"", "\"w\" F32 [2, 2]", "\"b\" BF16 [2]"});
  expect_refused([&] { weights(file); }, {"2 tensors of two or more dimensions"});
  expect_refused([&] { weights(file, "e"); }, {"tensor \"e\"", "[0, 3]", "at least one row"});
}

TEST(Safetensors, EveryElementType) {
  const auto read = [](const std::string& dtype, const std::string& data) {
    return io::array_among(
        header(safetensors(R"({"a":{"dtype":")" + dtype + R"(","shape":[1],"data_offsets":[0,)" +
                               std::to_string(data.size()) + "]}}",
                           data)),
        "a", {});
  };
  EXPECT_EQ(read("F64", elements<double>({1e300})).get(0), 1e300);
  EXPECT_EQ(read("F32", elements<float>({0.5F})).get(0), 0.5);
  EXPECT_EQ(read("F16", elements<std::uint16_t>({0xC000})).get(0), -2);
  EXPECT_EQ(read("BF16", elements<std::uint16_t>({0xC000})).get(0), -2);
  EXPECT_EQ(read("I64", elements<std::int64_t>({-5})).get(0), -5);
  EXPECT_EQ(read("U64", elements<std::uint64_t>({5})).get(0), 5);
  EXPECT_EQ(read("I32", elements<std::int32_t>({-5})).get(0), -5);
  EXPECT_EQ(read("U32", elements<std::uint32_t>({5})).get(0), 5);
  EXPECT_EQ(read("I16", elements<std::int16_t>({-5})).get(0), -5);
  EXPECT_EQ(read("U16", elements<std::uint16_t>({5})).get(0), 5);
  EXPECT_EQ(read("I8", elements<std::int8_t>({-5})).get(0), -5);
  EXPECT_EQ(read("U8", elements<std::uint8_t>({5})).get(0), 5);
  EXPECT_EQ(read("BOOL", "\x01").get(0), 1);
  EXPECT_EQ(read("F8_E4M3", "\xC0").get(0), -2);
  EXPECT_EQ(read("F8_E5M2", "\xC0").get(0), -2);
  expect_refused([&] { read("F8_E8M0", "\x01"); }, {"tensor \"a\"", "F8_E8M0"});
  expect_refused([&] { read("Q4", "\x01"); }, {"tensor \"a\"", "\"Q4\""});
  expect_refused([&] { read("BOOL", "\x02"); }, {"tensor \"a\", element [0]", "a boolean of 2"});
}

TEST(Safetensors, RefusesLengths) {
  expect_refused([] { header("1234567"); }, {"byte 0", "7 bytes", "8 bytes"});
  expect_refused([] { header(number(100, 8) + "{}"); }, {"a header of 100 bytes with 2 bytes left"});
  expect_refused([] { header(number(UINT64_MAX, 8) + "{}"); }, {"a header of 18446744073709551615 bytes"});
  expect_refused([] { header(safetensors(two_by_two, values.substr(1))); },
                 {"byte 80", "byte 81", "truncated"});
  expect_refused([] { header(safetensors(two_by_two, values + "x")); },
                 {"byte 81", "1 bytes after", "padded"});
  expect_refused([] { header(safetensors("{}", "x")); }, {"byte 10", "padded"});
  EXPECT_TRUE(header(safetensors("{}", "")).empty());
}

void expect_header_refused(const std::string& text, std::initializer_list<const char*> phrases) {
  expect_refused([&] { header(safetensors(text, values)); }, phrases);
}

TEST(Safetensors, RefusesHeadersThatAreNone) {
  expect_header_refused("[]", {"before byte 8", "'{'"});
  expect_header_refused("\xEF\xBB\xBF{}", {"before byte 8", "'{'"});
  expect_header_refused("{", {"byte", "no JSON"});
  expect_header_refused("{\"a\xFF\":1}", {"byte", "no JSON"});
  expect_header_refused("{} {}", {"byte 11", "no JSON"});
  expect_header_refused(R"({"a":1})", {"before byte 15", "1"});
  expect_header_refused(R"({"a":{}})", {"an incomplete tensor \"a\""});
  expect_header_refused(R"({"a":{"dtype":1}})", {"dtype to be a string"});
  expect_header_refused(R"({"a":{"shape":[-1]}})", {"-1", "integers of at least 0"});
  expect_header_refused(R"({"a":{"shape":[1.5]}})", {"\"1.5\"", "integers of at least 0"});
  expect_header_refused(R"({"a":{"shape":[[1]]}})", {"an array", "integers of at least 0"});
  expect_header_refused(R"({"a":{"shape":[1],"shape":[1]}})",
                        {"the key \"shape\" in tensor \"a\"", "each once"});
  expect_header_refused(R"({"a":{"offsets":[1]}})", {"the key \"offsets\"", "data_offsets"});
  expect_header_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", {"incomplete tensor"});
  expect_header_refused(R"({"__metadata__":{"a":1}})", {"an object of strings"});
  expect_header_refused(R"({"__metadata__":{"a":"1","a":"2"}})", {"the key \"a\" twice"});
  const std::string tensor = R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  expect_header_refused("{" + tensor + "," + tensor + "}", {"before byte", "the name \"w\" twice"});
  expect_header_refused(std::string(1000, '[') + "1", {"'{'"});
  expect_header_refused("{\"a\":" + std::string(1000, '['), {"an array"});
}

TEST(Safetensors, RefusesPlacesThatDoNotFit) {
  const auto tensor = [](const std::string& name, const std::string& shape, const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
  };
  expect_header_refused("{" + tensor("a", "2", "0,8") + "," + tensor("b", "1", "12,16") + "}",
                        {"tensor \"b\"", "[12, 16] after a tensor that ends at 8", "without gap or overlap"});
  expect_header_refused("{" + tensor("a", "2", "0,8") + "," + tensor("b", "3", "4,16") + "}",
                        {"tensor \"b\"", "[4, 16] after a tensor that ends at 8"});
  expect_header_refused("{" + tensor("a", "3", "0,16") + "}", {"data_offsets [0, 16]", "12 bytes"});
  expect_header_refused("{" + tensor("a", "4", "16,0") + "}", {"tensor \"a\""});
  expect_header_refused("{" + tensor("a", "4611686018427387904,2", "0,16") + "}", {"no place in 64 bits"});
  expect_header_refused("{" + tensor("a", "18446744073709551615", "0,16") + "}", {"no place in 64 bits"});
  expect_header_refused("{" + tensor("a", "99999999999999999999999", "0,16") + "}",
                        {"integers of at least 0"});
}

TEST(Safetensors, RefusesNaNWithItsPlace) {
  const std::string nan = elements<float>({1, std::numeric_limits<float>::quiet_NaN(), 0, 2});
  expect_refused([&] { weights(safetensors(two_by_two, nan)); },
                 {"tensor \"w\", element [0, 1], byte 69", "NaN", "finite weights"});
}

/// A weight as compressed-tensors stores it.
std::string compressed(const std::string& dtype, const std::string& value_shape, const std::string& data,
                       const std::string& mask, std::vector<std::int64_t> shape,
                       const std::vector<std::int64_t>& offsets) {
  const std::int64_t width = (shape[1] + 7) / 8;
  std::string text = "{";
  std::string bytes;
  const auto add = [&](const std::string& name, const std::string& type, const std::string& extents,
                       const std::string& content) {
    text += std::string(text.size() > 1 ? "," : "") + "\"p." + name + R"(":{"dtype":")" + type +
            R"(","shape":)" + extents + R"(,"data_offsets":[)" + std::to_string(bytes.size()) + "," +
            std::to_string(bytes.size() + content.size()) + "]}";
    bytes += content;
  };
  add("shape", "I64", offsets.empty() ? "[2,1]" : "[2]", elements(shape));
  if (!offsets.empty())
    add("row_offsets", "I64", "[" + std::to_string(offsets.size()) + "]", elements(offsets));
  add("compressed", dtype, value_shape, data);
  add("bitmask", "U8", "[" + std::to_string(shape[0]) + "," + std::to_string(width) + "]", mask);
  return safetensors(text + "}", bytes);
}

TEST(CompressedTensors, Bitmask) {
  // The mask 1010 0101 1100 is the bytes 165, 3; the second row is empty.
  const std::string mask("\xA5\x03\x00\x00", 4);
  const std::string data = elements<float>({1, 2, 3, 4, 0, 6});
  const WeightMatrix matrix = weights(compressed("F32", "[6]", data, mask, {2, 12}, {0, 6}));
  EXPECT_THAT(matrix.row_begin, ElementsAre(0, 6, 6));
  EXPECT_THAT(matrix.column, ElementsAre(0, 2, 5, 7, 8, 9));
  EXPECT_THAT(matrix.values.as<float>(), ElementsAre(1, 2, 3, 4, 0, 6));
  EXPECT_EQ(matrix.origin, "a.safetensors:p.weight");
  expect_refused([&] { weights(compressed("F32", "[6]", data, mask, {2, 12}, {0, 5})); },
                 {"\"p.row_offsets\"", "offset 5 of row 1", "6, as the bitmask says"});
  expect_refused([&] { weights(compressed("F32", "[5]", data.substr(4), mask, {2, 12}, {0, 6})); },
                 {"\"p.compressed\"", "5 values", "6, as the bitmask has bits"});
  expect_refused([&] { weights(compressed("F32", "[6]", data, mask, {2, 9}, {0, 6})); },
                 {"\"p.bitmask\"", "a bit for column 9 in row 0", "columns 0 to 8"});
  expect_refused([&] { weights(compressed("F32", "[6]", data, mask, {2, 12}, {0, 6, 6})); },
                 {"\"p.row_offsets\"", "I64 [3]", "I64 [2]"});
}

TEST(CompressedTensors, TwoOfFour) {
  const std::string data = elements<std::uint16_t>({0x3F80, 0xC000, 0, 0x4000});
  const WeightMatrix matrix = weights(compressed("BF16", "[1,4]", data, "\xA5", {1, 8}, {}));
  EXPECT_EQ(matrix.values.dtype(), DType::bf16);
  EXPECT_THAT(matrix.column, ElementsAre(0, 2, 5, 7));
  EXPECT_EQ(matrix.values.get(2), 0);  // stored, though zero
  expect_refused([&] { weights(compressed("BF16", "[1,4]", data, "\xA7", {1, 8}, {})); },
                 {"\"p.bitmask\"", "3 entries in row 0, columns 0 to 3", "two"});
  expect_refused([&] { weights(compressed("BF16", "[1,4]", data, "\x85", {1, 8}, {})); },
                 {"1 entries in row 0, columns 4 to 7"});
  expect_refused([&] { weights(compressed("BF16", "[1,3]", data.substr(2), "\x25", {1, 6}, {})); },
                 {"6 columns in 2:4", "a multiple of 4"});
  const std::string nan = elements<std::uint16_t>({0x3F80, 0x7FC0, 0, 0x4000});
  expect_refused([&] { weights(compressed("BF16", "[1,4]", nan, "\xA5", {1, 8}, {})); },
                 {"tensor \"p.compressed\", value 1, byte", "NaN"});
}

TEST(SafetensorsIndex, MapsTensorsToFiles) {
  const auto parse = [](const std::string& text) {
    return io::parse_safetensors_index(bytes_of(text), "i.json");
  };
  EXPECT_THAT(
      parse(R"({"metadata":{"total_size":1e3,"a":[{"b":null}]},"weight_map":{"a":"1","b":"2"},"c":true})"),
      ElementsAre(Pair("a", "1"), Pair("b", "2")));
  expect_refused([&] { parse("{}"); }, {"no weight_map"});
  expect_refused([&] { parse(R"({"weight_map":[]})"); }, {"before byte 15", "an array"});
  expect_refused([&] { parse(R"({"weight_map":{"a":1}})"); }, {"before byte 21", "1", "weight_map"});
  expect_refused([&] { parse(R"({"weight_map":{"a":"x","a":"y"}})"); }, {"the tensor \"a\" twice"});
  expect_refused([&] { parse(R"({"weight_map":{},"weight_map":{}})"); }, {"the key \"weight_map\" twice"});
  expect_refused([&] { parse(R"({"weight_map":{"a":"../x"}})"); }, {"\"../x\"", "a file beside the index"});
  expect_refused([&] { parse(R"({"weight_map":{"a":{"b":"c"}}})"); }, {"an object"});
}

}  // namespace
}  // namespace weft
