// Machine code of long kernels, made by all processors at once.
#pragma once

#include <weft/backends/cuda/assemble.h>
#include <weft/backends/llvm/pieces.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/target.h>

#include <optional>

namespace weft {

/// A kernel that is cut into functions (llvm/pieces.h), which are emitted and assembled in parallel and
/// linked then: the assembler needs more than twice the time for the same code as one function. The report is
/// that of the whole. Nothing where the program is not to be cut. RuntimeError as cuda::assemble and
/// cuda::link.
std::optional<cuda::Assembled> assemble_in_pieces(const ThreadProgram& program, const Target& target,
                                                  const llvm_backend::PieceLimits& limits = {});

}  // namespace weft
