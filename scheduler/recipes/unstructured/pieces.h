// The form of SparseRT's recipe in which warps have equal pieces of rows.
#pragma once

#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <optional>

namespace weft {

/// Columns of a block, how many such blocks lie side by side, and loads of B that a lane needs for an entry.
struct PiecesTile {
  std::int64_t tile, tiles, loads;
};

/// A piece has `places` entries of a row. A block has `warps` warps, each of which has `turns` pieces.
struct PiecesCut {
  std::int64_t places, warps, turns;
  std::int64_t pieces() const { return warps * turns; }  ///< pieces of a block
};

/// The cut with the knobs' numbers where they are given: as few pieces a block as `parts` blocks, or one for
/// each processor, take. Nothing where a row does not fit a block, or where sums of its pieces do not fit
/// shared memory.
std::optional<PiecesCut> pieces_cut(const SparseTensor& weights, const Target& target, const PiecesTile& tile,
                                    const SparseRtKnobs& knobs);

/// About how long it takes for columns that fit a warp, fitted to measured points (docs/measurements.md).
double pieces_microseconds(std::int64_t entries);

/// A warp has `columns` columns a lane and, one after the other, pieces of rows, read at a time; their sums
/// meet in shared memory. Blocks have equal numbers of them, so no load waits for where a row begins, and
/// rows may be as uneven as they like. The weights may be in any format; they are packed anew.
/// InfeasibleError where there is no cut.
Schedule sparsert_pieces(Algorithm algorithm, const SparseTensor& weights, const Target& target,
                         const ProductLoops& loops, const SparseRtKnobs& knobs);

}  // namespace weft
