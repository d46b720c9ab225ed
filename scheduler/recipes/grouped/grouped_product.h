// What the recipes for groups of rows share: shfl_bw, whose groups keep whole columns, and v_n_m, whose rows
// keep two of each four of their group's columns.
#pragma once

#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <cstdint>
#include <memory>

namespace weft {

/// How weights in groups of rows are stored: vector_wise, shfl_bw, n_m or v_n_m.
struct GroupTiles {
  std::int64_t rows = 0;    ///< V, of a group
  std::int64_t places = 0;  ///< k: rows of the dense operand that go with a block
  bool two_of_four = false;

  /// Values of a row in a block.
  constexpr std::int64_t kept() const { return two_of_four ? places / 2 : places; }
};
/// The tiles of weights in one of those formats.
GroupTiles group_tiles(const SparseTensor& weights);

/// Whether the target has tensor cores that can multiply such weights. UserError, for the recipe that asks,
/// where no tensor cores could: for the type of the weights, the rows of their groups, or the algorithm.
bool has_grouped_product(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor& weights,
                         const Target& target);

/// The schedule of a product for which `has_grouped_product` says so. UserError for knobs that do not fit.
Schedule grouped_product(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                         const Target& target, const ShflBwKnobs& knobs);

}  // namespace weft
