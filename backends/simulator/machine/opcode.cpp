#include <weft/backends/simulator/machine/operation.h>

#include <algorithm>
#include <ranges>

namespace weft::simulator {
namespace {

/// Whether something is so for every word of a list with blanks between them.
template <class F>
bool all_words(std::string_view words, F function) {
  return std::ranges::all_of(std::views::split(words, ' '), [&](const auto& word) {
    return word.empty() || function(std::string_view(word.begin(), word.end()));
  });
}

}  // namespace

bool Opcode::accepts(const ptx::Instruction& instruction) const {
  if (operands == 0 || types == any_modifiers) return true;
  if (!all_words(required, [&](std::string_view word) { return instruction.has(word); })) return false;
  return has_sources(instruction) &&
         has_only(instruction, types, std::string(required) + " " + std::string(optional));
}

bool has_only(const ptx::Instruction& instruction, int types, std::string_view accepted) {
  int seen = 0;
  for (const std::string_view modifier : instruction.modifiers) {
    if (ptx::parse_type(modifier) != ptx::Type::none) {
      ++seen;
    } else if (all_words(accepted, [&](std::string_view word) { return word != modifier; })) {
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

}  // namespace weft::simulator
