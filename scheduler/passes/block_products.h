// Products of a block of hb_ell and a tile of a dense matrix, by the sparse tensor core of HB-ELL.
#pragma once

#include <weft/scheduler/ir/node.h>

namespace weft::passes {

/// The instructions that load a block and its tile from global memory and multiply them: which ones, says the
/// width of the block. `operation` is one that tensorize made (steps/block_nest.h).
ir::Stmt lower_block_product(const ir::TensorOperation& operation);

}  // namespace weft::passes
