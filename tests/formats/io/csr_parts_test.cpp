// CSR tensors of PyTorch that were saved as their three tensors.
#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/safetensors.h>

#include <functional>
#include <limits>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::FileTensor;

WeightMatrix read_tensors(const std::vector<FileTensor>& tensors, const std::string& name = {}) {
  const std::string file = testing::safetensors(tensors);
  WeightMatrix matrix = io::weights_among(io::parse_safetensors_header(bytes_of(file), "a.safetensors"),
                                          "a.safetensors", {.tensor = name});
  matrix.check();
  return matrix;
}

/// Three rows, the second of them empty, and five columns.
struct Parts {
  std::string separator = ".";
  std::vector<std::int64_t> offsets{0, 2, 2, 4};
  std::vector<std::int64_t> columns{0, 3, 1, 2};
  std::vector<float> values{1, 2, 0, 4};
  std::vector<std::int64_t> shape{3, 5};
  std::string shape_word = "shape";

  std::vector<FileTensor> tensors() const {
    const std::string prefix = "fc.weight" + separator;
    std::vector<FileTensor> result{{prefix + "crow_indices", "I64", {std::ssize(offsets)}, elements(offsets)},
                                   {prefix + "col_indices", "I64", {std::ssize(columns)}, elements(columns)},
                                   {prefix + "values", "F32", {std::ssize(values)}, elements(values)}};
    if (!shape.empty()) result.push_back({prefix + shape_word, "I64", {std::ssize(shape)}, elements(shape)});
    return result;
  }
};

TEST(CsrParts, AreOneWeight) {
  for (const std::string separator : {".", "_"}) {
    for (const std::string shape_word : {"shape", "size"}) {
      SCOPED_TRACE(separator + shape_word);
      const Parts parts{.separator = separator, .shape_word = shape_word};
      const WeightMatrix matrix = read_tensors(parts.tensors());
      EXPECT_THAT(matrix.shape, ElementsAre(3, 5));
      EXPECT_THAT(matrix.row_begin, ElementsAre(0, 2, 2, 4));
      EXPECT_THAT(matrix.column, ElementsAre(0, 3, 1, 2));
      EXPECT_THAT(matrix.values.as<float>(), ElementsAre(1, 2, 0, 4));  // the zero is stored
      EXPECT_EQ(matrix.origin, "a.safetensors:fc.weight");
    }
  }
}

TEST(CsrParts, WithoutTheirValuesAreRefused) {
  std::vector<FileTensor> tensors = Parts().tensors();
  tensors.erase(tensors.begin() + 2);
  for (const char* name : {"", "fc.weight"})
    expect_refused([&] { read_tensors(tensors, name); },
                   {"not all of its other parts", "fc.weight.col_indices and fc.weight.values"});
}

TEST(CsrParts, ColumnsMayStandInAnyOrder) {
  const WeightMatrix matrix =
      read_tensors(Parts{.offsets = {0, 3, 3, 4}, .columns = {4, 0, 2, 1}}.tensors(), "fc.weight");
  EXPECT_THAT(matrix.column, ElementsAre(0, 2, 4, 1));
  EXPECT_THAT(matrix.values.as<float>(), ElementsAre(2, 0, 1, 4));
}

TEST(CsrParts, IndicesOf32Bits) {
  std::vector<FileTensor> tensors = Parts().tensors();
  tensors[0] = {"fc.weight.crow_indices", "I32", {4}, elements<std::int32_t>({0, 2, 2, 4})};
  tensors[1] = {"fc.weight.col_indices", "I32", {4}, elements<std::int32_t>({0, 3, 1, 2})};
  EXPECT_THAT(read_tensors(tensors).column, ElementsAre(0, 3, 1, 2));
}

TEST(CsrParts, WithoutAShapeTheLargestIndexTellsTheColumns) {
  const std::vector<FileTensor> tensors = Parts{.shape = {}}.tensors();
  const WeightMatrix matrix = read_tensors(tensors);
  EXPECT_THAT(matrix.shape, ElementsAre(3, 4));
  EXPECT_EQ(matrix.origin, "a.safetensors:fc.weight (its columns counted up to the largest index)");
  expect_refused([&] { read_tensors(tensors, "fc"); },
                 {"no tensor named \"fc\"", "\"fc.weight\" F32 [3, ?]"});
  expect_refused(
      [&] { read_tensors(Parts{.offsets = {0, 0}, .columns = {}, .values = {}, .shape = {}}.tensors()); },
      {"tensor \"fc.weight.col_indices\"", "no index, and no shape", "I64 [2]"});
  expect_refused([&] { read_tensors(Parts{.columns = {0, 3, 1, 1L << 40}, .shape = {}}.tensors()); },
                 {"the index 1099511627776", "columns"});
}

TEST(CsrParts, AreNotJoinedWhereTheWeightIsThere) {
  std::vector<FileTensor> tensors = Parts().tensors();
  tensors.push_back({"fc.weight", "F32", {1, 2}, elements<float>({7, 8})});
  EXPECT_THAT(read_tensors(tensors, "fc.weight").values.as<float>(), ElementsAre(7, 8));
}

void expect_parts_refused(const Parts& parts, std::initializer_list<const char*> phrases) {
  expect_refused([&] { read_tensors(parts.tensors()); }, phrases);
}

TEST(CsrParts, RefusesOffsetsThatDoNotAscend) {
  expect_parts_refused({.offsets = {1, 2, 2, 4}},
                       {"tensor \"fc.weight.crow_indices\"", "offsets 1 and 2 of row 0", "from 0 to 4"});
  expect_parts_refused({.offsets = {0, 3, 2, 4}}, {"offsets 3 and 2 of row 1"});
  expect_parts_refused({.offsets = {0, 2, 2, 5}}, {"offsets 2 and 5 of row 2", "the number of values"});
  expect_parts_refused({.offsets = {0, 2, 2, 3}},
                       {"3 as the last offset, of row 2", "4, the number of values"});
  expect_parts_refused({.offsets = {0, -1, 2, 4}}, {"offsets 0 and -1 of row 0"});
}

TEST(CsrParts, RefusesColumnsOutOfRangeOrTwice) {
  expect_parts_refused({.columns = {0, 5, 1, 2}}, {"tensor \"fc.weight.col_indices\"",
                                                   "column 5 in row 0, element 1", "columns 0 to 4"});
  expect_parts_refused({.columns = {0, 3, -1, 2}}, {"column -1 in row 2, element 2"});
  expect_parts_refused({.columns = {0, 3, -1, 2}, .shape = {}}, {"column -1 in row 2"});
  expect_parts_refused({.columns = {0, 3, 2, 2}}, {"column 2 twice in row 2", "every column once in a row"});
}

TEST(CsrParts, RefusesPartsThatDoNotFit) {
  expect_parts_refused({.shape = {4, 5}}, {"tensor \"fc.weight.crow_indices\"", "I64 [4]", "I64 [5]"});
  expect_parts_refused({.shape = {3, 5, 1}}, {"tensor \"fc.weight.shape\"", "I64 [3]", "I64 [2]"});
  expect_parts_refused({.shape = {3, 0}}, {"tensor \"fc.weight.shape\"", "[3, 0]", "at least one row"});
  expect_parts_refused({.columns = {0, 3, 1}}, {"tensor \"fc.weight.col_indices\"", "I64 [3]", "I64 [4]"});
  const auto refuse = [](std::size_t which, const FileTensor& tensor,
                         std::initializer_list<const char*> words) {
    std::vector<FileTensor> tensors = Parts{.shape = {}}.tensors();
    tensors[which] = tensor;
    expect_refused([&] { read_tensors(tensors); }, words);
  };
  refuse(2, {"fc.weight.values", "F32", {1, 2, 2}, elements<float>({1, 2, 3, 4})},
         {"tensor \"fc.weight.values\"", "F32 [1, 2, 2]", "one value for each of [4]"});
  refuse(1, {"fc.weight.col_indices", "U8", {4}, std::string("\0\3\1\2", 4)}, {"U8 [4]", "I64 [4]"});
  refuse(0, {"fc.weight.crow_indices", "I64", {2, 2}, elements<std::int64_t>({0, 2, 2, 4})},
         {"tensor \"fc.weight.crow_indices\"", "I64 [2, 2]", "one offset for each row"});
  refuse(0, {"fc.weight.crow_indices", "F32", {4}, elements<float>({0, 2, 2, 4})}, {"F32 [4]", "I64 [4]"});
}

TEST(CsrParts, RefusesNaN) {
  expect_parts_refused({.values = {1, std::numeric_limits<float>::quiet_NaN(), 0, 4}},
                       {"tensor \"fc.weight.values\", value 1, byte", "NaN"});
}

}  // namespace
}  // namespace weft
