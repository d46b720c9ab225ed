// Dense: every element in row-major order. The baseline, and the best format where little is pruned.
#include <weft/formats/named/common.h>

namespace weft::named {
namespace {

SparseTensor pack_dense(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  check_positions(weights, format, weights.rows * weights.columns, "elements");
  return packed(weights, format,
                {{.dimension = Dimension::row, .extent = weights.rows},
                 {.dimension = Dimension::column, .extent = weights.columns}},
                arrays_of({{"values", to_dense(weights).reshaped({weights.rows * weights.columns})}}));
}

}  // namespace

NamedFormat dense() {
  return {.name = "dense",
          .summary = "every element stored, zeros too, row by row",
          .pack = pack_dense,
          .purpose = "Weights of which nearly nothing is pruned, and comparison."};
}

}  // namespace weft::named

weft::Format weft::formats::dense() {
  return {"dense", {}};
}
