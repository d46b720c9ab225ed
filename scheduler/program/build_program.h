// From an algorithm and a packed weight to the program that every schedule starts from. The only place that
// asks a format which rows and columns its stored positions mean.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/program/launch_sizes.h>

#include <string>

namespace weft {

/// The unscheduled program: all loops serial, one sum at a time. Loops are named after the indices of the
/// algorithm; the loop over the stored columns of a row has the name of the reduction index (indices joined
/// by "_" where a filter has several), the loop over stored rows, in formats that store by column or by
/// entry, has ".stored" after the row index. Levels of blocks name their loops: "m.block" and "m.row",
/// "k.block" and "k.place" (Level::loop).
///
/// Rows that fill up the last group are summed like others, from zeros, and have no result. Columns that fill
/// up the last block are left out of the sum.
///
/// Where the format lists the columns of each row, sums are kept in a register; where it does not (csc, coo),
/// in a workspace of the output's shape.
///
/// `weights` is the sparse operand; null where the algorithm has none. Where a size of it is given at launch
/// (Algorithm::takes_any_weights), it is an example: of its arrays, the format's parameters alone are numbers
/// of the program. UserError when its shape or its element type is not that of the operand, and for any
/// weights in a format that does not store row by row.
ir::Program build_program(const Algorithm& algorithm, const SparseTensor* weights);

/// The name of the loop over the rows of the sparse operand: its row indices, joined by "_". Empty where no
/// operand is sparse.
std::string row_loop_name(const Algorithm& algorithm);

}  // namespace weft
