#include <fmt/format.h>
#include <weft/formats/io/semi_structured.h>

#include <array>
#include <map>
#include <string_view>

namespace weft::io {
namespace {

[[noreturn]] void refuse_tensor(const StoredTensor& tensor, std::string found, std::string accepted) {
  refuse(tensor.origin, "tensor " + in_quotes(tensor.name), std::move(found), std::move(accepted));
}

/// How the places of an element type's groups are stored. Rows are taken in bundles: of `rows_of_bundle`
/// rows, those eight apart stand together.
struct MetaLayout {
  std::string_view values;
  std::string_view words;
  std::int64_t word_bytes;
  std::int64_t rows_of_bundle;

  std::int64_t columns_of_word() const { return 8 * word_bytes; }
};
constexpr std::array layouts{MetaLayout{"F16", "I16", 2, 32}, MetaLayout{"BF16", "I16", 2, 32},
                             MetaLayout{"I8", "I32", 4, 16}};

const MetaLayout& layout_of(const SemiStructuredTensor& weight) {
  for (const MetaLayout& layout : layouts) {
    if (layout.values == weight.values->dtype) return layout;
  }
  refuse_tensor(*weight.values, "elements of " + weight.values->dtype + " in 2:4", "F16, BF16 or I8");
}

void check_parts(const SemiStructuredTensor& weight, const MetaLayout& layout) {
  const std::vector<std::int64_t> shape{weight.rows, weight.columns};
  check_weight_shape(shape, weight.values->bytes.size(), weight.values->origin,
                     "tensor " + in_quotes(weight.values->name));
  // Words change places in pairs of columns.
  const std::int64_t columns = 2 * layout.columns_of_word();
  if (weight.rows % layout.rows_of_bundle != 0 || weight.columns % columns != 0) {
    refuse_tensor(*weight.values,
                  fmt::format("a weight of {} rows and {} columns", weight.rows, weight.columns),
                  fmt::format("multiples of {} rows and {} columns for {}", layout.rows_of_bundle, columns,
                              layout.values));
  }
  const std::vector<std::int64_t> words{weight.rows, weight.columns / layout.columns_of_word()};
  if (weight.meta->dtype == layout.words && weight.meta->shape == words) return;
  refuse_tensor(*weight.meta, weight.meta->dtype + " " + text_of_shape(weight.meta->shape),
                fmt::format("{} {}", layout.words, text_of_shape(words)));
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
void read_word(const SemiStructuredTensor& weight, std::uint64_t word, std::int64_t row, std::int64_t column,
               std::int64_t groups, WeightMatrix& matrix) {
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto code = static_cast<std::int32_t>(word >> (4 * group) & 0xFU);
    const std::int32_t first = code % 4;
    const std::int32_t second = code / 4;
    const std::int64_t begin = column + 4 * group;
    if (first >= second) {
      refuse_tensor(*weight.meta,
                    fmt::format("code {:#x}, places {} and {}, in row {}, columns {} to {}", code, first,
                                second, row, begin, begin + 3),
                    "two places of four in ascending order: 0x4, 0x8, 0x9, 0xc, 0xd or 0xe");
    }
    for (const std::int32_t place : {first, second})
      matrix.column.push_back(static_cast<std::int32_t>(begin) + place);
  }
}

}  // namespace

std::vector<SemiStructuredTensor> semi_structured_among(std::span<const StoredTensor> tensors) {
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  constexpr std::string_view suffix = ".packed";
  std::vector<SemiStructuredTensor> result;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.name.ends_with(suffix) || tensor.shape.size() != 2) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - suffix.size());
    const auto meta = by_name.find(name + ".meta");
    if (meta == by_name.end()) continue;
    const std::int64_t columns = 2 * std::min(tensor.shape[1], std::int64_t{1} << 31);
    result.push_back({name, tensor.shape[0], columns, &tensor, meta->second});
  }
  return result;
}

WeightMatrix unpack_semi_structured(const SemiStructuredTensor& weight, std::optional<DType> reinterpret_as) {
  const MetaLayout& layout = layout_of(weight);
  check_parts(weight, layout);
  const StoredTensor& stored = *weight.values;
  WeightMatrix matrix;
  matrix.shape = {weight.rows, weight.columns};
  matrix.rows = weight.rows;
  matrix.columns = weight.columns;
  matrix.origin = stored.origin + ":" + weight.name;
  matrix.row_begin.push_back(0);
  matrix.column.reserve(static_cast<std::size_t>(weight.rows * weight.columns / 2));
  for (std::int64_t row = 0; row < weight.rows; ++row) {
    for (std::int64_t column = 0; column < weight.columns; column += layout.columns_of_word()) {
      const std::int64_t place = place_of_word(layout, weight.rows, row, column / layout.columns_of_word());
      const auto bytes = static_cast<std::size_t>(layout.word_bytes);
      const std::uint64_t word =
          little_endian(weight.meta->bytes, static_cast<std::size_t>(place) * bytes, bytes);
      read_word(weight, word, row, column, 2 * layout.word_bytes, matrix);
    }
    matrix.row_begin.push_back(matrix.stored());
  }
  matrix.values = array_of(stored, reinterpret_as).reshaped({matrix.stored()});
  check_finite(matrix.values, stored.origin, [&](std::int64_t i) {
    return fmt::format("tensor {}, value {}, byte {}", in_quotes(stored.name), i,
                       stored.offset + static_cast<std::size_t>(i) * size_of(matrix.values.dtype()));
  });
  return matrix;
}

}  // namespace weft::io
