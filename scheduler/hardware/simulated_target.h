// Targets that no hardware has: an architecture with instructions that only the simulator knows.
#pragma once

#include <weft/scheduler/hardware/target.h>

#include <string>

namespace weft {

/// Kernels for such a target are PTX by LLVM and run in the simulator: no assembler, no GPU, no package takes
/// them.
bool is_simulated_only(const Target& target);

/// What compilers call the target: "sm_90a"; of a simulated one, the architecture that it extends, "sm_70".
std::string base_architecture(const Target& target);

}  // namespace weft
