// CSC: offsets by column, then the rows and values of each column.
#include <weft/formats/named/common.h>

#include <numeric>

namespace weft::named {
namespace {

SparseTensor pack_csc(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  check_positions(weights, format, weights.stored(), "entries");
  Array begin_array = index_array(weights.columns + 1);
  Array row_array = index_array(weights.stored());
  Array values(weights.values.dtype(), {weights.stored()});
  const auto begin = begin_array.as<std::int32_t>();
  for (const std::int32_t column : weights.column) ++begin[static_cast<std::size_t>(column) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());

  std::vector<std::int32_t> next(begin.begin(), begin.end());
  const auto row_of = row_array.as<std::int32_t>();
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row)) {
      const auto column = static_cast<std::size_t>(weights.column_of(i));
      const std::int32_t position = next[column]++;
      row_of[position] = static_cast<std::int32_t>(row);
      values.copy_element(position, weights.values, i);
    }
  }

  return packed(
      weights, format,
      {{.dimension = Dimension::column, .extent = weights.columns},
       {.kind = LevelKind::compressed, .dimension = Dimension::row, .begin = "begin", .index = "row"}},
      arrays_of(
          {{"begin", std::move(begin_array)}, {"row", std::move(row_array)}, {"values", std::move(values)}}));
}

}  // namespace

NamedFormat csc() {
  return {.name = "csc",
          .summary = "columns compressed: offsets by column, rows, values",
          .pack = pack_csc,
          .purpose = "Exchange with other tools, and products by the transposed weight."};
}

}  // namespace weft::named

weft::Format weft::formats::csc() {
  return {"csc", {}};
}
