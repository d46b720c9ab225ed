// The form of SparseRT's recipe whose weights are read from memory.
#pragma once

#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

namespace weft {

/// A warp has some rows at a time, each by `lanes` lanes of some columns; the places of a row come in groups,
/// vector loads of values and of columns, and rows of similar length beside each other. Where `form` is
/// streaming, a block first copies the rows of B, of its columns, to shared memory: all of them, or
/// `panel_rows` at a time, and then the sums of all rows of the block stay in registers; where all fit, rows
/// are in slices (slices.h). Where it is row_per_warp, B is read where it lies, and groups of warps
/// share the sum of a row. The weights may be in any format; they are packed anew.
Schedule sparsert_streaming(Algorithm algorithm, const SparseTensor& weights, const Target& target,
                            const ProductLoops& loops, const SparseRtKnobs& knobs);

}  // namespace weft
