// Shuffled block-wise: groups of V rows that keep the same columns (see row_groups), which rows being free.
// After Huang et al., "Shfl-BW: Accelerating Deep Neural Network Inference with Tensor-Core Aware Weight
// Pruning" (DAC 2022).
#include <weft/formats/named/row_groups.h>
#include <weft/formats/row_groups.h>

namespace weft::named {
namespace {

SparseTensor pack_shfl_bw(const WeightMatrix& weights, const Format& format) {
  const GroupShape shape = group_shape(format, weights);
  const std::int64_t groups = groups_of(weights.rows, shape);
  std::vector<std::int32_t> order = group_rows(weights, shape.rows);
  order.resize(groups * shape.rows, -1);
  std::vector<Level> levels{
      {.dimension = Dimension::none, .extent = groups, .loop = "block"},
      {.dimension = Dimension::none, .extent = shape.rows, .loop = "row"},
      {.kind = LevelKind::singleton,
       .dimension = Dimension::row,
       .index = "row_order",
       .padded = groups * shape.rows != weights.rows},
  };
  return pack_groups(weights, format, shape, order, std::move(levels), {{"row_order", Array::of(order)}});
}

}  // namespace

NamedFormat shfl_bw() {
  return {.name = "shfl_bw",
          .summary = "vector_wise after a row order of its own, found when it is packed",
          .pack = pack_shfl_bw,
          .purpose = "Weights pruned in groups of rows that were chosen freely, on tensor cores.",
          .parameters = group_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::ShflBw::operator()(const GroupOptions& options) const {
  return named::with_group_options("shfl_bw", options);
}
