// The text of an instruction with effects where it stands.
#pragma once

#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/node.h>

#include <string>

namespace weft {

/// Whether argument i stands in the text of the row as a number.
bool is_immediate(const Instruction& row, std::size_t argument);
/// The row's text with its immediate arguments in place. InternalError when one is no constant.
std::string effect_text(const Instruction& row, const ir::Execute& use);

/// How inline assembly calls a register of that type: "f" of f32, "l" of i64, "r" of 32-bit integers.
const char* register_letter(DType dtype);

}  // namespace weft
