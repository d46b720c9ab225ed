// Instructions that no hardware has.
#pragma once

#include <weft/backends/simulator/operation.h>
#include <weft/scheduler/instructions.h>

namespace weft::simulator {

/// The row of the instruction table that an operation of Pipe::extension runs.
const Instruction& extension_row(const Operation& operation);

}  // namespace weft::simulator
