// What the recipes for groups of rows share: shfl_bw, whose groups keep whole columns, and v_n_m, whose rows
// keep two of each four of their group's columns. First all numbers are chosen, then steps are written.
#pragma once

#include <weft/scheduler/recipes/grouped/shape.h>
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
  std::int64_t element_bytes = 2;  ///< a value has
  bool takes_two = false;          ///< whether warps with roles take two of mixed that keep all

  /// Values of a row in a block.
  constexpr std::int64_t kept() const { return two_of_four ? places / 2 : places; }
};
/// The tiles of weights in one of those formats.
GroupTiles group_tiles(const SparseTensor& weights);
/// As takes_two_blocks, of weights with these values, of which any may be +0.
bool takes_two_blocks(const Array& values, std::int64_t height, std::int64_t width);

/// Whether the target has tensor cores that can multiply such weights. UserError, for the recipe that asks,
/// where no tensor cores could: for the type of the weights, the rows of their groups, or the algorithm.
bool has_grouped_product(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor& weights,
                         const Target& target);

/// The weights in the tiles that the knobs ask for. A part of a group's rows keeps the group's columns.
std::shared_ptr<const SparseTensor> in_tiles(std::shared_ptr<const SparseTensor> weights,
                                             const ShflBwKnobs& knobs);

/// Whether producers may gather X [n, k] as it lies: where it has few columns, beyond which elements take
/// longer than a transposed copy (docs/measurements/few_columns.md).
bool may_gather_elements(const Algorithm& algorithm, const Format& format);

/// A number for each knob; those that are given, where they are, for weights in their tiles, of a product for
/// which `has_grouped_product` says so. UserError for some that do not fit.
ShflBwKnobs grouped_numbers(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                            const ShflBwKnobs& knobs);
/// The tile of such numbers.
grouped::Tile<std::int64_t> tile_of(const ShflBwKnobs& numbers, const GroupTiles& tiles);

/// What a block takes that goes through so many tiles, each with so many bytes to copy and to store, at the
/// rates of a multiprocessor, and with the time until the first copies are there (docs/measurements.md).
double clocks_of_tiles(std::int64_t tiles, double copied, double stored);

/// The schedule of the product. UserError for knobs that do not fit.
Schedule grouped_product(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                         const Target& target, const ShflBwKnobs& knobs);
/// The point of the knobs for a product for which `has_grouped_product` says so; nothing for clusters, which
/// no point has.
std::optional<KnobValues> grouped_point(const Algorithm& algorithm,
                                        std::shared_ptr<const SparseTensor> weights, const Target& target,
                                        const ShflBwKnobs& knobs);

}  // namespace weft
