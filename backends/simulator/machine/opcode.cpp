#include <weft/backends/simulator/machine/operation.h>

#include <algorithm>
#include <ranges>

namespace weft::simulator {
namespace {

/// Whether the modifiers have all words of a list.
bool has_all(const ptx::Instruction& instruction, std::string_view words) {
  return std::ranges::all_of(std::views::split(words, ' '), [&](const auto& word) {
    return instruction.has(std::string_view(word.begin(), word.end()));
  });
}

bool has_only(const ptx::Instruction& instruction, int types, std::string_view required,
              std::string_view optional) {
  for (const std::string_view modifier : instruction.modifiers) {
    if (ptx::parse_type(modifier) != ptx::Type::none) {
      --types;
    } else if (!ptx::lists(required, modifier) && !ptx::lists(optional, modifier)) {
      return false;
    }
  }
  return types == 0;
}

}  // namespace

bool Opcode::accepts(const ptx::Instruction& instruction) const {
  if (operands == 0 || types == any_modifiers) return true;
  return has_all(instruction, required) && has_only(instruction, types, required, optional) &&
         has_sources(instruction);
}

bool has_only(const ptx::Instruction& instruction, int types, std::string_view accepted) {
  return has_only(instruction, types, accepted, {});
}

bool has_sources(const ptx::Instruction& instruction) {
  using enum ptx::Operand::Kind;
  if (instruction.operands.empty()) return false;
  const ptx::Operand& result = instruction.operands.front();
  if (result.kind != reg && result.kind != vector && result.kind != pair) return false;
  for (const ptx::Operand& element : result.elements) {
    if (element.kind != reg && element.kind != sink) return false;
  }
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    const ptx::Operand::Kind kind = instruction.operands[i].kind;
    if (kind != reg && kind != integer && kind != real && kind != special && kind != symbol) return false;
  }
  return true;
}

}  // namespace weft::simulator
