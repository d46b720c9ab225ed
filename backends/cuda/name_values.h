// Names for values that a program computes more than once, so that the printed text reads well. For files of
// this folder.
#pragma once

#include <weft/scheduler/ir/program.h>

namespace weft::cuda {

/// The program with Lets for integer values, each where its variables are known:
///  - sums of the pieces of one loop get the loop's name: n = 64 * n.outer + n.inner;
///  - elements of index arrays that are used twice get the name of the array: column = A.column[k];
///  - quotients and remainders that are used twice.
/// Very long programs stay as they are.
ir::Program name_values(ir::Program program);

}  // namespace weft::cuda
