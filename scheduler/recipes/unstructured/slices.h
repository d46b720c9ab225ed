// The streaming form of SparseRT's recipe, where all of B fits into shared memory.
#pragma once

#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

namespace weft {

/// Whether the rows of B, of the columns of a block, fit into shared memory.
bool slices_fit(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                const ProductLoops& loops, const SparseRtKnobs& knobs);

/// Rows are stored in slices (formats/format.h) of as many as a warp takes at a time, `lanes` lanes of
/// some columns each; a load of the entries of a slice is one run of memory. Slices are dealt to warps. Where
/// the columns of a row are less than a line of shared memory, rows beside each other read its parts in
/// different orders, so that no bank is asked twice. The weights may be in any format; they are packed anew.
/// Knobs as those of sparsert_streaming; `rows` counts the slices of a warp.
Schedule sparsert_slices(Algorithm algorithm, const SparseTensor& weights, const Target& target,
                         const ProductLoops& loops, const SparseRtKnobs& knobs);

}  // namespace weft
