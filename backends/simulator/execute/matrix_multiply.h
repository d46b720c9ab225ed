// mma.sync and mma.sp.
#pragma once

#include <weft/backends/simulator/machine/operation.h>

namespace weft::simulator::matrix {

/// Whether all lanes run the operation, as matrix instructions need; reported where not.
bool whole_warp(Warp& warp, const Operation& operation);

/// Opcode::choose of mma.
Handler choose_multiply(const ptx::Instruction& instruction, Operation& operation);

}  // namespace weft::simulator::matrix
