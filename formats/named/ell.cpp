// ELL: every row padded to the longest. The row that is stored as number r has the places r * width …
// r * width + width - 1; in those left over the column is -1 and the value +0.
#include <weft/formats/named/common.h>

#include <algorithm>

namespace weft {
namespace named {

NamedFormat ell();

namespace {

std::int64_t longest_row(const WeightMatrix& weights) {
  std::int64_t longest = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(weights.rows); ++row) {
    longest = std::max(longest, weights.row_begin[row + 1] - weights.row_begin[row]);
  }
  return longest;
}

SparseTensor pack_ell(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"order", "rows"});
  const RowLayout rows(given, format);
  const WeightMatrix& weights = rows.weights();
  const std::int64_t width = longest_row(weights);
  check_positions(weights, format, weights.rows * width, "places, every row being as long as the longest");
  Array column_array = index_array(weights.rows * width);
  Array values(weights.values.dtype(), {weights.rows * width});
  const auto column_of = column_array.as<std::int32_t>();
  std::fill(column_of.begin(), column_of.end(), -1);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::int64_t begin = weights.row_begin[static_cast<std::size_t>(row)];
    const std::int64_t end = weights.row_begin[static_cast<std::size_t>(row) + 1];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t position = row * width + (i - begin);
      column_of[static_cast<std::size_t>(position)] = weights.column[static_cast<std::size_t>(i)];
      values.copy_element(position, weights.values, i);
    }
  }

  std::vector<Level> levels = rows.levels();
  levels.push_back({.kind = LevelKind::dense, .dimension = Dimension::none, .extent = width});
  levels.push_back({.kind = LevelKind::singleton,
                    .dimension = Dimension::column,
                    .begin = {},
                    .index = "column",
                    .padded = true});
  std::vector<SparseTensor::NamedArray> arrays = rows.arrays();
  arrays.push_back({"column", std::move(column_array)});
  arrays.push_back({"values", std::move(values)});
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays));
}

}  // namespace

NamedFormat ell() {
  return {.name = "ell",
          .summary = "every row padded to the longest, column -1 in the padding",
          .pack = pack_ell,
          .purpose = "Unstructured weights whose rows are about equally long.",
          .parameters = row_parameters};
}

}  // namespace named

Format formats::ell(const RowOptions& options) {
  return named::with_row_options("ell", options);
}

}  // namespace weft
