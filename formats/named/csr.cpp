// CSR: offsets by row, then the columns and values of each row.
#include <weft/formats/named/common.h>

namespace weft {
namespace named {

NamedFormat csr();

namespace {

SparseTensor pack_csr(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  check_positions(weights, format, weights.stored(), "entries");
  std::vector<Level> levels{
      {.kind = LevelKind::dense, .dimension = Dimension::row, .extent = weights.rows},
      {.kind = LevelKind::compressed, .dimension = Dimension::column, .begin = "begin", .index = "column"},
  };
  std::vector<SparseTensor::NamedArray> arrays;
  arrays.push_back({"begin", row_offsets(weights)});
  arrays.push_back({"column", Array::of(weights.column)});
  arrays.push_back({"values", weights.values});
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays));
}

}  // namespace

NamedFormat csr() {
  return {"csr", "rows compressed: offsets by row, columns, values", pack_csr};
}

}  // namespace named

Format formats::csr() {
  return {"csr", {}};
}

}  // namespace weft
