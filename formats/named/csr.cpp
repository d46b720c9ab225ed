// CSR: offsets by row, then the columns and values of each row, in the order in which rows are stored.
#include <weft/formats/named/common.h>

#include <array>
#include <utility>

namespace weft::named {
namespace {

constexpr std::array<FormatParameter, 3> csr_parameters{
    {row_parameters[0], row_parameters[1], index_parameter}};

SparseTensor pack_csr(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"order", "rows", "index"});
  check_positions(given, format, given.stored(), "entries");
  const DType index = column_type(given, format);
  const RowLayout rows(given, format);
  const WeightMatrix& weights = rows.weights();
  Array columns = Array::of(weights.column);
  return rows.packed(
      format,
      {{.kind = LevelKind::compressed, .dimension = Dimension::column, .begin = "begin", .index = "column"}},
      arrays_of({{"begin", indices_of(weights.row_begin)},
                 {"column", index == DType::i32 ? std::move(columns) : columns.converted(index)},
                 {"values", weights.values}}));
}

}  // namespace

NamedFormat csr() {
  return {
      .name = "csr",
      .summary = "rows compressed: offsets by row, columns, values",
      .pack = pack_csr,
      .purpose = "Unstructured weights; what most tools read, and what weights are compiled into code from.",
      .parameters = csr_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::Csr::operator()(const CsrOptions& options) const {
  Format format = named::with_row_options("csr", {.order = options.order, .rows = options.rows});
  if (options.index != CsrOptions().index) format.parameters["index"] = options.index;
  return format;
}
