// CSR: offsets by row, then the columns and values of each row, in the order in which rows are stored.
#include <weft/formats/named/common.h>

namespace weft::named {
namespace {

SparseTensor pack_csr(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"order", "rows"});
  check_positions(given, format, given.stored(), "entries");
  const RowLayout rows(given, format);
  const WeightMatrix& weights = rows.weights();
  return rows.packed(
      format,
      {{.kind = LevelKind::compressed, .dimension = Dimension::column, .begin = "begin", .index = "column"}},
      arrays_of({{"begin", indices_of(weights.row_begin)},
                 {"column", Array::of(weights.column)},
                 {"values", weights.values}}));
}

}  // namespace

NamedFormat csr() {
  return {
      .name = "csr",
      .summary = "rows compressed: offsets by row, columns, values",
      .pack = pack_csr,
      .purpose = "Unstructured weights; what most tools read, and what weights are compiled into code from.",
      .parameters = row_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::Csr::operator()(const RowOptions& options) const {
  return named::with_row_options("csr", options);
}
