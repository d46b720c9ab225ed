// Dense: every element in row-major order. The baseline, and the best format where little is pruned.
#include <weft/formats/named/common.h>

namespace weft {
namespace named {

NamedFormat dense();

namespace {

SparseTensor pack_dense(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  check_positions(weights, format, weights.rows * weights.columns, "elements");
  std::vector<Level> levels{
      {.kind = LevelKind::dense, .dimension = Dimension::row, .extent = weights.rows},
      {.kind = LevelKind::dense, .dimension = Dimension::column, .extent = weights.columns},
  };
  std::vector<SparseTensor::NamedArray> arrays;
  arrays.push_back({"values", to_dense(weights).reshaped({weights.rows * weights.columns})});
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays));
}

}  // namespace

NamedFormat dense() {
  return {.name = "dense",
          .summary = "every element stored, zeros too, row by row",
          .pack = pack_dense,
          .purpose = "Weights of which nearly nothing is pruned, and comparison."};
}

}  // namespace named

Format formats::dense() {
  return {"dense", {}};
}

}  // namespace weft
