#include <fmt/format.h>
#include <weft/formats/io/split_weight.h>

#include <array>
#include <string_view>

namespace weft::io {
namespace {

/// How the places of an element type's groups are stored. Rows are taken in bundles: of `rows_of_bundle`
/// rows, those eight apart stand together.
struct MetaLayout {
  std::string_view values;
  std::string_view words;
  std::int64_t word_bytes;
  std::int64_t rows_of_bundle;

  std::int64_t columns_of_word() const { return 8 * word_bytes; }
};
constexpr std::array meta_layouts{MetaLayout{"F16", "I16", 2, 32}, MetaLayout{"BF16", "I16", 2, 32},
                                  MetaLayout{"I8", "I32", 4, 16}};

const MetaLayout& layout_of(const SplitWeight& weight) {
  for (const MetaLayout& layout : meta_layouts) {
    if (layout.values == weight.values().dtype) return layout;
  }
  refuse_tensor(weight.values(), "elements of " + weight.values().dtype + " in 2:4", "F16, BF16 or I8");
}

void check_packed_parts(const SplitWeight& weight) {
  const MetaLayout& layout = layout_of(weight);
  check_weight_shape(weight.shape, weight.values().bytes.size(), weight.values().origin,
                     "tensor " + in_quotes(weight.values().name));
  // Words change places in pairs of columns.
  const std::int64_t columns = 2 * layout.columns_of_word();
  if (weight.rows() % layout.rows_of_bundle != 0 || weight.columns() % columns != 0)
    refuse_tensor(weight.values(),
                  fmt::format("a weight of {} rows and {} columns", weight.rows(), weight.columns()),
                  fmt::format("multiples of {} rows and {} columns for {}", layout.rows_of_bundle, columns,
                              layout.values));
  expect(*weight.parts[1], layout.words, {weight.rows(), weight.columns() / layout.columns_of_word()});
}

/// Where the word of a row and a column of words stands: rows of a bundle that are eight apart become
/// neighbours, words of two such rows and two columns are transposed, and pairs of columns come one after the
/// other.
std::int64_t place_of_word(const MetaLayout& layout, std::int64_t rows, std::int64_t row,
                           std::int64_t column) {
  const std::int64_t bundle = layout.rows_of_bundle;
  const std::int64_t in_bundle = row % bundle;
  std::int64_t new_row = row - in_bundle + row % 8 * (bundle / 8) + in_bundle / 8;
  std::int64_t new_column = column;
  if (new_row % 2 != column % 2) {
    const std::int64_t down = new_row % 2 == 0 ? 1 : -1;
    new_row += down;
    new_column -= down;
  }
  return new_column / 2 * 2 * rows + 2 * new_row + new_column % 2;
}

/// The places of the groups whose codes are in a word; the first group begins at `column`.
void read_word(const SplitWeight& weight, std::uint64_t word, std::int64_t row, std::int64_t column,
               std::int64_t groups, WeightMatrix& matrix) {
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto code = static_cast<std::int32_t>(word >> (4 * group) & 0xFU);
    const std::int32_t first = code % 4;
    const std::int32_t second = code / 4;
    const std::int64_t begin = column + 4 * group;
    if (first >= second)
      refuse_tensor(*weight.parts[1],
                    fmt::format("code {:#x}, places {} and {}, in row {}, columns {} to {}", code, first,
                                second, row, begin, begin + 3),
                    "two places of four in ascending order: 0x4, 0x8, 0x9, 0xc, 0xd or 0xe");
    for (const std::int32_t place : {first, second})
      matrix.column.push_back(static_cast<std::int32_t>(begin) + place);
  }
}

WeightMatrix unpacked(const SplitWeight& weight, std::optional<DType> reinterpret_as) {
  const MetaLayout& layout = layout_of(weight);
  WeightMatrix matrix = weight.matrix();
  matrix.column.reserve(weight.rows() * weight.columns() / 2);
  for (std::int64_t row = 0; row < weight.rows(); ++row) {
    for (std::int64_t column = 0; column < weight.columns(); column += layout.columns_of_word()) {
      const std::int64_t place = place_of_word(layout, weight.rows(), row, column / layout.columns_of_word());
      const auto bytes = static_cast<std::size_t>(layout.word_bytes);
      const std::uint64_t word =
          little_endian(weight.parts[1]->bytes, static_cast<std::size_t>(place) * bytes, bytes);
      read_word(weight, word, row, column, 2 * layout.word_bytes, matrix);
    }
    matrix.row_begin.push_back(matrix.stored());
  }
  return weight.with_values(std::move(matrix), reinterpret_as);
}

}  // namespace

std::vector<SplitWeight> semi_structured_among(std::span<const StoredTensor> tensors) {
  const auto find = finder(tensors);
  constexpr std::string_view suffix = ".packed";
  std::vector<SplitWeight> result;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.name.ends_with(suffix) || tensor.shape.size() != 2) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - suffix.size());
    const StoredTensor* meta = find(name + ".meta");
    if (meta == nullptr) continue;
    const std::int64_t columns = 2 * std::min(tensor.shape[1], std::int64_t{1} << 31);
    result.push_back(
        {name, "2:4 packed", {tensor.shape[0], columns}, {&tensor, meta}, check_packed_parts, unpacked});
  }
  return result;
}

}  // namespace weft::io
