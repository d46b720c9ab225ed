// Instructions that no hardware has.
#pragma once

#include <weft/backends/simulator/machine/operation.h>
#include <weft/scheduler/hardware/instructions.h>

#include <optional>
#include <string_view>

namespace weft::simulator {

/// The row of the instruction table that an operation of Pipe::extension runs, by Operation::variant.
const weft::Instruction& extension_row(const Operation& operation);
/// The variant of the row whose PTX has this opcode with its modifiers, "swmma.mma.f32.f32.4".
std::optional<std::uint16_t> extension_number(std::string_view opcode);

/// Opcode::choose of swmma.
Handler choose_sparse_block(const ptx::Instruction& instruction, Operation& operation);

}  // namespace weft::simulator
