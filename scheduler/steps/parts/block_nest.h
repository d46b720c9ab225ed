// The nest that an instruction on blocks of hb_ell can do:
//   for row in 0 .. 16, for column in 0 .. 16, for place in 0 .. width of the block:
//     sum[row, column] += values[…] * B[column of the place, column]
#pragma once

#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/steps/parts/loops.h>

namespace weft::steps {

/// The loops over rows, columns and places alone, of a nest that may go over blocks too.
ir::Stmt loops_of_block(const ir::Stmt& nest);

/// Precondition 10: the weights are in hb_ell with blocks of 16, none of them empty, and widths in steps of
/// 4; the three loops stand in this order and go over a whole block; the dense factor is row-major, and
/// nothing is asked but that a value is none of the padding and that both are inside their matrices, as the
/// instruction does.
std::variant<TensorNest, Reason> block_nest_of(const ir::Chain& chain, const ir::Store& store,
                                               const StepContext& context);

/// Where all blocks have one width, no array has to say which blocks there are: the numbers take the place of
/// their loads. Of other weights, the statement as it is.
ir::Stmt with_uniform_numbers(const ir::Stmt& stmt, const StepContext& context);

}  // namespace weft::steps
