#include <fmt/format.h>
#include <weft/formats/io/split_weight.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace weft::io {
namespace {

/// What such a weight has beside its values.
struct CsrParts {
  explicit CsrParts(const SplitWeight& weight)
      : offsets(*weight.parts[1]), columns(*weight.parts[2]), shape(weight.parts[3]) {}

  const StoredTensor &offsets, &columns;
  const StoredTensor* shape;  ///< null where there is none
};

void check_indices(const StoredTensor& tensor, std::int64_t count) {
  expect(tensor, tensor.dtype == "I32" ? "I32" : "I64", {count});
}

void check_csr_parts(const SplitWeight& weight) {
  const CsrParts parts(weight);
  const StoredTensor& values = weight.values();
  if (values.shape.size() != 1)
    refuse_tensor(values, values.dtype + " " + text_of_shape(values.shape),
                  fmt::format("one value for each of {}", text_of_shape(parts.columns.shape)));
  check_indices(parts.columns, values.shape.front());
  if (parts.shape != nullptr) {
    check_extents(*parts.shape);
    check_weight_shape(weight.shape, parts.offsets.bytes.size(), parts.shape->origin,
                       "tensor " + in_quotes(parts.shape->name));
    return check_indices(parts.offsets, weight.rows() + 1);
  }
  if (parts.offsets.shape.size() != 1 || parts.offsets.shape.front() < 2)
    refuse_tensor(parts.offsets, parts.offsets.dtype + " " + text_of_shape(parts.offsets.shape),
                  "one offset for each row, and one more");
  check_indices(parts.offsets, parts.offsets.shape.front());
}

/// Of a weight whose offsets are there, and not all else.
void refuse_missing_part(const SplitWeight& weight) {
  const std::string& name = weight.values().name;
  const std::string prefix = name.substr(0, name.rfind("crow_indices"));
  refuse_tensor(weight.values(), "the row offsets of a CSR tensor, and not all of its other parts",
                fmt::format("{0}col_indices and {0}values in the same file", prefix));
}

/// As many columns as the largest index asks for.
std::int64_t count_columns(const CsrParts& parts, const Array& columns) {
  if (columns.size() == 0)
    refuse_tensor(parts.columns, "no index, and no shape beside it, so that the columns are unknown",
                  "a tensor of the shape, I64 [2]");
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < columns.size(); ++i) largest = std::max(largest, columns.get_integer(i));
  if (largest >= INT32_MAX)
    refuse_tensor(parts.columns, fmt::format("the index {}", largest),
                  fmt::format("at most {} columns", INT32_MAX));
  return largest + 1;
}

/// The columns of a row in ascending order, each with the place of its value.
using RowEntries = std::vector<std::pair<std::int32_t, std::int64_t>>;

/// The entries at the places from `first` to `last`, the last not among them.
RowEntries entries_of_row(const SplitWeight& weight, const Array& columns, std::int64_t row,
                          std::int64_t first, std::int64_t last) {
  RowEntries entries;
  const CsrParts parts(weight);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t column = columns.get_integer(i);
    if (column < 0 || column >= weight.columns())
      refuse_tensor(parts.columns, fmt::format("column {} in row {}, element {}", column, row, i),
                    fmt::format("columns 0 to {}{}", weight.columns() - 1,
                                parts.shape == nullptr ? "" : ", as " + parts.shape->name + " says"));
    entries.emplace_back(static_cast<std::int32_t>(column), i);
  }
  std::ranges::sort(entries);
  const auto twice = std::ranges::adjacent_find(entries, {}, &RowEntries::value_type::first);
  if (twice != entries.end())
    refuse_tensor(parts.columns, fmt::format("column {} twice in row {}", twice->first, row),
                  "every column once in a row");
  return entries;
}

/// Before any column is looked at: with offsets that are wrong, columns of two rows look like those of one.
void check_offsets(const SplitWeight& weight, const Array& offsets, std::int64_t entries) {
  const StoredTensor& tensor = CsrParts(weight).offsets;
  for (std::int64_t row = 0; row < weight.rows(); ++row) {
    const std::int64_t first = offsets.get_integer(row), last = offsets.get_integer(row + 1);
    if ((row == 0 && first != 0) || last < first || last > entries)
      refuse_tensor(tensor, fmt::format("offsets {} and {} of row {}", first, last, row),
                    fmt::format("offsets that ascend from 0 to {}, the number of values", entries));
  }
}

/// The positions of all entries; gives back where the value of each stands.
std::vector<std::int64_t> read_rows(const SplitWeight& weight, const Array& columns, WeightMatrix& matrix) {
  const StoredTensor& tensor = CsrParts(weight).offsets;
  const Array offsets = array_of(tensor);
  check_offsets(weight, offsets, columns.size());
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < weight.rows(); ++row) {
    const std::int64_t first = offsets.get_integer(row);
    const std::int64_t last = offsets.get_integer(row + 1);
    for (const auto& [column, place] : entries_of_row(weight, columns, row, first, last)) {
      matrix.column.push_back(column);
      places.push_back(place);
    }
    matrix.row_begin.push_back(last);
  }
  if (matrix.stored() != columns.size())
    refuse_tensor(tensor, fmt::format("{} as the last offset, of row {}", matrix.stored(), weight.rows() - 1),
                  fmt::format("{}, the number of values", columns.size()));
  return places;
}

WeightMatrix joined(const SplitWeight& weight, std::optional<DType> reinterpret_as) {
  const Array columns = array_of(CsrParts(weight).columns);
  SplitWeight sized = weight;
  const bool is_counted = weight.columns() == unknown_extent;
  if (is_counted) sized.shape.back() = count_columns(CsrParts(weight), columns);
  WeightMatrix matrix = sized.matrix();
  if (is_counted) matrix.origin += counted_columns;
  const std::vector<std::int64_t> places = read_rows(sized, columns, matrix);
  matrix = weight.with_values(std::move(matrix), reinterpret_as);
  if (std::ranges::is_sorted(places)) return matrix;
  const Array as_stored = std::exchange(matrix.values, Array(matrix.values.dtype(), {matrix.stored()}));
  for (std::size_t i = 0; i < places.size(); ++i)
    matrix.values.copy_element(static_cast<std::int64_t>(i), as_stored, places[i]);
  return matrix;
}

}  // namespace

std::vector<SplitWeight> csr_parts_among(std::span<const StoredTensor> tensors) {
  const auto find = finder(tensors);
  constexpr std::string_view word = "crow_indices";
  std::vector<SplitWeight> result;
  for (const StoredTensor& offsets : tensors) {
    if (!offsets.name.ends_with(word) || offsets.name.size() < word.size() + 2) continue;
    // With the '.' or '_' that stands before each of the words.
    const std::string prefix = offsets.name.substr(0, offsets.name.size() - word.size());
    const std::string name = prefix.substr(0, prefix.size() - 1);
    const StoredTensor* columns = find(prefix + "col_indices");
    const StoredTensor* values = find(prefix + "values");
    const bool is_word = prefix.ends_with('.') || prefix.ends_with('_');
    if (!is_word || find(name) != nullptr) continue;
    if (columns == nullptr || values == nullptr) {
      result.push_back(
          {name, "csr parts", {unknown_extent, unknown_extent}, {&offsets}, refuse_missing_part, joined});
      if (columns != nullptr) result.back().parts.push_back(columns);
      if (values != nullptr) result.back().parts.push_back(values);
      continue;
    }
    const StoredTensor* shape = find(prefix + "shape");
    if (shape == nullptr) shape = find(prefix + "size");
    const std::int64_t rows = offsets.shape.size() == 1 ? offsets.shape.front() - 1 : unknown_extent;
    result.push_back({name,
                      "csr parts",
                      shape == nullptr ? std::vector{rows, unknown_extent} : extents_in(*shape),
                      {values, &offsets, columns, shape},
                      check_csr_parts,
                      joined});
  }
  return result;
}

}  // namespace weft::io
