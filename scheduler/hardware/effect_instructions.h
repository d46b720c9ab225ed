// Rows of the instruction table with effects on registers, shared memory and barriers: what
// ir::Execute names.
#pragma once

#include <weft/scheduler/hardware/instructions.h>

#include <vector>

namespace weft {

/// The rows, added to the table by instructions().
std::vector<Instruction> effect_instructions();

}  // namespace weft
