// Targets that are not what compilers know: one with instructions that only the simulator has, and those of
// GPUs for which LLVM writes the PTX of an older architecture.
#pragma once

#include <weft/scheduler/hardware/target.h>

#include <string>

namespace weft {

/// Kernels for such a target are PTX by LLVM and run in the simulator: no assembler, no GPU, no package takes
/// them.
bool is_simulated_only(const Target& target);

/// The architecture for which LLVM writes the target's PTX: its own, or an older one whose PTX it runs,
/// "sm_90" for sm_120.
std::string ptx_architecture(const Target& target);

}  // namespace weft
