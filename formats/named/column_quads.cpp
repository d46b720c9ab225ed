// Unstructured weights on sparse tensor cores: the columns that a group of V rows has entries in are put
// together in fours of which every row has at most two (see quads). The fours of a group are listed one after
// the other, the columns of each in ascending order, -1 for those that it lacks; the list is filled up to a
// multiple of k. Every matrix fits: a column that fits no four begins another.
#include <weft/formats/named/quads.h>
#include <weft/formats/parallel.h>

namespace weft::named {
namespace {

SparseTensor pack_column_quads(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {"V", "k"});
  return pack_quads(weights, format, pair_shape(format, usual_rows_of_pairs, weights.values.dtype()),
                    in_quads, threads_for(weights.stored()));
}

}  // namespace

NamedFormat column_quads() {
  return {.name = "column_quads",
          .summary =
              "groups of V rows (128), their columns in fours of which each row has two: any weights as 2:4",
          .pack = pack_column_quads,
          .purpose = "Weights without any pattern, on sparse tensor cores.",
          .parameters = pair_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::ColumnQuads::operator()(const PairOptions& options) const {
  return named::with_places({"column_quads", {{"V", options.rows}}}, options.places);
}
