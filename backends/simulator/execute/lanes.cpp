#include <weft/backends/simulator/execute/lanes.h>

#include <algorithm>

namespace weft::simulator {

bool has_only(const ptx::Instruction& instruction, std::size_t types,
              std::initializer_list<std::string_view> accepted) {
  std::size_t seen = 0;
  for (const std::string& modifier : instruction.modifiers) {
    if (ptx::parse_type(modifier) != ptx::Type::none) {
      ++seen;
    } else if (std::ranges::find(accepted, modifier) == accepted.end()) {
      return false;
    }
  }
  return seen == types;
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

bool is_packed_integer(const ptx::Instruction& instruction) {
  return instruction.has("u16x2") || instruction.has("s16x2");
}

std::vector<Opcode> joined(std::initializer_list<std::span<const Opcode>> tables) {
  std::vector<Opcode> all;
  for (const auto& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace weft::simulator
