// ELL: every row padded to the longest. The row that is stored as number r has the places r * width …
// r * width + width - 1; in those left over the column is -1 and the value +0.
#include <weft/formats/named/common.h>

#include <algorithm>

namespace weft::named {
namespace {

SparseTensor pack_ell(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"order", "rows"});
  const RowLayout rows(given, format);
  const WeightMatrix& weights = rows.weights();
  std::int64_t width = 0;
  for (std::int64_t row = 0; row < weights.rows; ++row) width = std::max(width, weights.length(row));
  check_positions(weights, format, weights.rows * width, "places, every row being as long as the longest");
  Array column_array = index_array(weights.rows * width, -1);
  Array values(weights.values.dtype(), {weights.rows * width});
  const auto column_of = column_array.as<std::int32_t>();
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    std::int64_t position = row * width;
    for (const std::int64_t i : weights.entries(row)) {
      column_of[position] = weights.column[i];
      values.copy_element(position++, weights.values, i);
    }
  }
  return rows.packed(format, {{.dimension = Dimension::none, .extent = width}, padded_columns()},
                     arrays_of({{"column", std::move(column_array)}, {"values", std::move(values)}}));
}

}  // namespace

NamedFormat ell() {
  return {.name = "ell",
          .summary = "every row padded to the longest, column -1 in the padding",
          .pack = pack_ell,
          .purpose = "Unstructured weights whose rows are about equally long.",
          .parameters = row_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::Ell::operator()(const RowOptions& options) const {
  return named::with_row_options("ell", options);
}
