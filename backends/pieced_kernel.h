// PTX and machine code of long kernels, made by all processors at once.
#pragma once

#include <weft/backends/cuda/assemble.h>
#include <weft/backends/llvm/pieces.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/passes/lower.h>

#include <optional>
#include <string>

namespace weft {

struct PiecedKernel {
  std::string ptx;                           ///< text of the whole kernel, with a function for each piece
  std::optional<cuda::Assembled> assembled;  ///< the report is that of the whole
};

/// A kernel that is cut into functions (llvm/pieces.h), which are emitted in parallel. With `assemble` they
/// are assembled in parallel too, and linked then: the assembler needs more than twice the time for the text
/// of the whole. Nothing where the program is not to be cut. RuntimeError as cuda::assemble and cuda::link.
std::optional<PiecedKernel> make_in_pieces(const ThreadProgram& program, const Target& target, bool assemble,
                                           const llvm_backend::PieceLimits& limits = {});

}  // namespace weft
