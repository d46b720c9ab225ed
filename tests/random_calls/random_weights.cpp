#include "random_calls/random_weights.h"

#include <cmath>
#include <limits>

#include "formats/damage.h"

namespace weft::test {
namespace {

std::int64_t size_of(const Extent& extent, const std::map<std::string, std::int64_t>& sizes) {
  return extent.is_static() ? extent.value : sizes.at(extent.name);
}

}  // namespace

WeightMatrix random_weights(const Algorithm& algorithm, const std::map<std::string, std::int64_t>& sizes,
                            Dice& dice) {
  const Operand* sparse = algorithm.sparse_operand();
  std::vector<std::int64_t> shape;
  std::int64_t rows = 1, columns = 1;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) continue;
    for (std::size_t d = 0; d < factor.indices.size(); ++d) {
      shape.push_back(size_of(sparse->shape[d], sizes));
      (algorithm.index(*factor.indices[d].plain()).reduction ? columns : rows) *= shape.back();
    }
  }
  Array dense(sparse->dtype, {rows, columns});
  const std::int64_t kept = dice.any_of<std::int64_t>({0, 2, 10, 10, 25, 25, 50, 100});
  const bool by_columns = dice.chance(25);  // so that structured formats have something to find
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const std::int64_t place = by_columns ? i % columns * 7919 % 100 : dice.between(0, 99);
    if (place < kept) dense.set(i, static_cast<double>(dice.between(-4, 4)));
  }
  WeightMatrix weights = from_dense(dense, "random weights");
  weights.shape = shape;
  if (dice.chance(15) && weights.values.size() > 0) {  // an explicit zero
    weights.values.set(dice.between(0, weights.values.size() - 1), dice.chance(50) ? 0.0 : -0.0);
  }
  return weights;
}

void spoil(WeightMatrix& weights, Dice& dice) {
  const auto place = [&](std::int64_t size) { return dice.between(0, std::max<std::int64_t>(0, size - 1)); };
  const std::int64_t stored = weights.stored();
  switch (dice.between(0, 14)) {
    case 0: std::swap(weights.rows, weights.columns); break;
    case 1: dice.shuffle(weights.shape); break;
    case 2: weights.shape = {weights.columns, weights.rows}; break;
    case 3: weights.shape.clear(); break;
    case 4: weights.shape.push_back(dice.any_of<std::int64_t>({0, 1, 2, -1})); break;
    case 5: (dice.chance(50) ? weights.rows : weights.columns) = dice.wild_number(); break;
    case 6:
      if (stored > 0)
        weights.column[static_cast<std::size_t>(place(stored))] =
            static_cast<std::int32_t>(dice.wild_number());
      break;
    case 7:
      if (stored > 1) {
        const auto at = static_cast<std::size_t>(place(stored - 1));
        std::swap(weights.column[at], weights.column[at + 1]);
      }
      break;
    case 8:
      if (!weights.row_begin.empty())
        weights.row_begin[dice.place_in(weights.row_begin)] +=
            dice.chance(50) ? dice.between(-2, 2) : dice.wild_number() / 2;
      break;
    case 9: weights.row_begin.resize(static_cast<std::size_t>(dice.between(0, 3))); break;
    case 10: weights.values = weights.values.converted(static_cast<DType>(dice.between(0, 12))); break;
    case 11: weights.values = Array(weights.values.dtype(), {dice.between(0, stored + 2)}); break;
    case 12:
      if (stored > 0) {
        weights.values.set(place(stored),
                           dice.any_of({std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, 1e-310, 7e4}));
      }
      break;
    case 13: weights = WeightMatrix(); break;
    default: weights.column.clear();
  }
}

bool is_finite(const WeightMatrix& weights) {
  for (std::int64_t i = 0; i < weights.values.size(); ++i)
    if (!std::isfinite(weights.values.get(i))) return false;
  return true;
}

std::string description(const WeightMatrix& weights) {
  return "weights " + std::to_string(weights.rows) + " x " + std::to_string(weights.columns) + " as " +
         text_of_shape(weights.shape) + ", " + std::to_string(weights.stored()) + " stored, " +
         std::string(name_of(weights.values.dtype()));
}

Format random_format(Dice& dice) {
  static const std::vector<std::string> usual{"csr",
                                              "csr",
                                              "csr",
                                              "csr",
                                              "csr",
                                              "csc",
                                              "coo",
                                              "ell",
                                              "dense",
                                              "dense",
                                              "csr:order=dealt,rows=8",
                                              "csr:order=length",
                                              "csr:order=similar,rows=16",
                                              "ell:order=length,rows=8",
                                              "padded_csr",
                                              "padded_csr:pad=8",
                                              "padded_csr:pad=2,block=16",
                                              "padded_csr:pad=4,fill=6",
                                              "bcsr:b=4",
                                              "bcsr:b=16",
                                              "blocked_ell:b=8",
                                              "hb_ell",
                                              "hb_ell:b=4,offset=4",
                                              "hb_ell:step=4",
                                              "hb_ell:uniform=1",
                                              "hb_ell:pairs=1",
                                              "hb_ell:every=8",
                                              "sliced_ell:slice=4,pad=2,deal=2",
                                              "sliced_ell",
                                              "bitmap",
                                              "bitmap:order=dealt,rows=8",
                                              "vector_wise:V=8,k=16",
                                              "vector_wise:V=64",
                                              "shfl_bw:V=8,k=32",
                                              "shfl_bw:V=16",
                                              "shfl_bw:V=64",
                                              "shfl_bw:V=64,index=16",
                                              "n_m",
                                              "n_m:V=16",
                                              "v_n_m:V=16",
                                              "v_n_m:V=64,M=16",
                                              "v_n_m:V=16,M=10",
                                              "mixed",
                                              "mixed:V=16",
                                              "column_quads",
                                              "column_quads:V=16",
                                              "column_vectors",
                                              "column_vectors:V=4,index=16",
                                              "column_vectors:V=32",
                                              "column_blocks",
                                              "csr:index=16",
                                              "column_blocks:columns=8",
                                              "column_windows",
                                              "lane_streams:columns=64",
                                              "lane_streams",
                                              "pair_words:columns=128"};
  Format format = parse_format(dice.any_of(usual));
  if (dice.chance(12)) {
    static const std::vector<std::string> names{
        "b",    "V",       "k",     "M",     "order", "rows", "pad",   "block",  "fill", "offset",
        "step", "uniform", "pairs", "every", "slice", "deal", "index", "nosuch", ""};
    const std::string name =
        !format.parameters.empty() && dice.chance(50) ? format.parameters.begin()->first : dice.any_of(names);
    format.parameters[name] = dice.chance(50) ? dice.wild_number() : std::int64_t{1} << dice.between(0, 9);
  }
  if (dice.chance(1)) format.name = dice.wild_name();
  return format;
}

SparseTensor spoiled(const SparseTensor& tensor, Dice& dice) {
  const SparseTensor::NamedArray& named = dice.any_of(tensor.arrays());
  if (dice.chance(75) && named.array.size() > 0) {
    const std::int64_t place = dice.between(0, named.array.size() - 1);
    const double old = named.array.get(place);
    const double value = dice.chance(60)   ? old + static_cast<double>(dice.between(-2, 2))
                         : dice.chance(50) ? static_cast<double>(dice.between(-2, 70))
                                           : static_cast<double>(dice.wild_number());
    return damaged(tensor, named.name, place, value);
  }
  if (dice.chance(40)) {
    return with_array(tensor, named.name,
                      dice.chance(50) ? Array(named.array.dtype(), {dice.between(0, named.array.size() + 1)})
                                      : named.array.converted(static_cast<DType>(dice.between(0, 12))));
  }
  Format format = tensor.format();
  std::vector<std::int64_t> shape = tensor.shape();
  std::int64_t rows = tensor.rows(), columns = tensor.columns();
  std::vector<Level> levels = tensor.levels();
  std::vector<SparseTensor::NamedArray> arrays = tensor.arrays();
  ValueOrder order = tensor.value_order();
  switch (dice.between(0, 9)) {
    case 0: rows = dice.chance(50) ? dice.wild_number() : rows + dice.between(-1, 1); break;
    case 1: columns = dice.chance(50) ? dice.wild_number() : columns + dice.between(-1, 1); break;
    case 2: shape = {columns, rows}; break;
    case 3: levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(dice.place_in(levels))); break;
    case 4:
      levels[dice.place_in(levels)].extent = dice.chance(50) ? dice.wild_number() : dice.between(0, 70);
      break;
    case 5: levels[dice.place_in(levels)].stride = dice.wild_number(); break;
    case 6: levels[dice.place_in(levels)].kind = static_cast<LevelKind>(dice.between(0, 4)); break;
    case 7: levels[dice.place_in(levels)].index = dice.chance(50) ? "" : "nosuch"; break;
    case 8: format = random_format(dice); break;
    default: arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(dice.place_in(arrays)));
  }
  return {format, shape, rows, columns, levels, arrays, order};
}

}  // namespace weft::test
