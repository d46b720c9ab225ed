// What rows of the instruction table are made of, and those with effects on registers, shared memory and
// barriers: what ir::Execute names.
#pragma once

#include <weft/scheduler/hardware/instructions.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The text, which lives as long as the table.
std::string_view kept_text(std::string text);
/// "{$3, $4, $5}"
std::string numbered(int first, int count);
/// A row that ir::Execute names, which writes so many registers.
Instruction effect(std::string_view name, int lowest_sm, std::vector<DType> operands, std::string text,
                   DType result = DType::i64, int results = 0);

/// The rows with effects, added to the table by instructions().
std::vector<Instruction> effect_instructions();

}  // namespace weft
