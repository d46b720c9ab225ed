// 2:4: every row keeps two of each four columns (see kept_pairs).
#include <weft/dsl/arithmetic.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/kept_pairs.h>

#include <numeric>

namespace weft::named {
namespace {

SparseTensor pack_n_m(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {"V", "k"});
  const PairShape shape = pair_shape(format, usual_rows_of_pairs, weights.values.dtype());
  const std::int64_t blocks = shape.blocks_of(ceil_divide(weights.columns, slots_of_quad));
  SlotColumns columns(static_cast<std::size_t>(weights.columns));
  std::iota(columns.begin(), columns.end(), 0);
  const Level level{
      .dimension = Dimension::column, .extent = blocks, .stride = shape.slots, .parent = 0, .loop = "block"};
  return pack_pairs(weights, format, shape, {columns}, slots_of_quad,
                    pair_levels(shape, weights.rows, level, Dimension::column), {});
}

}  // namespace

NamedFormat n_m() {
  return {.name = "n_m",
          .summary = "2:4 in the order of sparse tensor cores: two of each four columns of a row",
          .pack = pack_n_m,
          .purpose = "Weights pruned to 2:4, on sparse tensor cores.",
          .parameters = pair_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::NM::operator()(const PairOptions& options) const {
  return named::with_places({"n_m", {{"V", options.rows}}}, options.places);
}
