// Vector-wise: V rows after one another keep the same columns (see row_groups).
#include <weft/formats/named/row_groups.h>

#include <numeric>

namespace weft::named {
namespace {

SparseTensor pack_vector_wise(const WeightMatrix& weights, const Format& format) {
  const GroupShape shape = group_shape(format, weights);
  const std::int64_t groups = groups_of(weights.rows, shape);
  std::vector<std::int32_t> order(groups * shape.rows, -1);
  std::iota(order.begin(), order.begin() + weights.rows, 0);
  std::vector<Level> levels{
      {.dimension = Dimension::row, .extent = groups, .stride = shape.rows, .loop = "block"},
      {.dimension = Dimension::row, .extent = shape.rows, .loop = "row"},
  };
  return pack_groups(weights, format, shape, order, std::move(levels), {});
}

}  // namespace

NamedFormat vector_wise() {
  return {.name = "vector_wise",
          .summary = "groups of V rows (64) that keep the same columns, their values dense, in blocks of k",
          .pack = pack_vector_wise,
          .purpose = "Weights pruned in groups of neighbouring rows, on tensor cores.",
          .parameters = group_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::VectorWise::operator()(const GroupOptions& options) const {
  return named::with_group_options("vector_wise", options);
}
