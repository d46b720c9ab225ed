// COO: row, column and value of each entry, sorted by row. As levels: one compressed list of rows, in which a
// row stands as often as it has entries, and to each of them its one column.
#include <weft/formats/named/common.h>

#include <algorithm>

namespace weft {
namespace named {

NamedFormat coo();

namespace {

SparseTensor pack_coo(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  check_positions(weights, format, weights.stored(), "entries");
  Array begin = index_array(2);
  begin.as<std::int32_t>()[1] = static_cast<std::int32_t>(weights.stored());
  Array row_array = index_array(weights.stored());
  const auto row_of = row_array.as<std::int32_t>();
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    std::fill(row_of.begin() + weights.row_begin[static_cast<std::size_t>(row)],
              row_of.begin() + weights.row_begin[static_cast<std::size_t>(row) + 1],
              static_cast<std::int32_t>(row));
  }

  std::vector<Level> levels{
      {.kind = LevelKind::compressed, .dimension = Dimension::row, .begin = "begin", .index = "row"},
      {.kind = LevelKind::singleton, .dimension = Dimension::column, .index = "column"},
  };
  std::vector<SparseTensor::NamedArray> arrays;
  arrays.push_back({"begin", std::move(begin)});
  arrays.push_back({"row", std::move(row_array)});
  arrays.push_back({"column", Array::of(weights.column)});
  arrays.push_back({"values", weights.values});
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays));
}

}  // namespace

NamedFormat coo() {
  return {.name = "coo",
          .summary = "row, column and value of each entry, sorted by row",
          .pack = pack_coo,
          .purpose = "Exchange with other tools."};
}

}  // namespace named

Format formats::coo() {
  return {"coo", {}};
}

}  // namespace weft
