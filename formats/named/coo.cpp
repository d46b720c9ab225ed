// COO: row, column and value of each entry, sorted by row. As levels: one compressed list of rows, in which a
// row stands as often as it has entries, and to each of them its one column.
#include <weft/formats/named/common.h>

namespace weft::named {
namespace {

SparseTensor pack_coo(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  check_positions(weights, format, weights.stored(), "entries");
  Array row_array = index_array(weights.stored());
  const auto row_of = row_array.as<std::int32_t>();
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row)) row_of[i] = static_cast<std::int32_t>(row);
  }
  return packed(
      weights, format,
      {{.kind = LevelKind::compressed, .dimension = Dimension::row, .begin = "begin", .index = "row"},
       {.kind = LevelKind::singleton, .dimension = Dimension::column, .index = "column"}},
      arrays_of({{"begin", indices_of(std::array{std::int64_t{0}, weights.stored()})},
                 {"row", std::move(row_array)},
                 {"column", Array::of(weights.column)},
                 {"values", weights.values}}));
}

}  // namespace

NamedFormat coo() {
  return {.name = "coo",
          .summary = "row, column and value of each entry, sorted by row",
          .pack = pack_coo,
          .purpose = "Exchange with other tools."};
}

}  // namespace weft::named

weft::Format weft::formats::coo() {
  return {"coo", {}};
}
