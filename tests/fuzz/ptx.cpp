#include <fuzz/fuzz.h>
#include <weft/backends/simulator/ptx/parse.h>

#include <cstdlib>

namespace {

using weft::simulator::ptx::Function;
using weft::simulator::ptx::Operand;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// Whoever uses the module trusts every index.
void demand_sound(const Function& function, const Operand& operand) {
  const auto index = static_cast<std::size_t>(operand.index);
  if (operand.kind == Operand::Kind::reg) demand(operand.index >= 0 && index < function.registers.size());
  if (operand.kind == Operand::Kind::label) {
    demand(operand.index >= 0 && index <= function.instructions.size());
  }
  if (operand.kind == Operand::Kind::address) demand(operand.elements.size() == 1);
  if (operand.kind == Operand::Kind::tensor) demand(!operand.elements.empty());
  if (operand.kind == Operand::Kind::pair) demand(operand.elements.size() == 2);
  for (const Operand& element : operand.elements) demand_sound(function, element);
}

void demand_sound(const Function& function) {
  demand(function.places.size() == function.instructions.size());
  for (const auto& instruction : function.instructions) {
    demand(instruction.guard < static_cast<int>(function.registers.size()));
    demand(instruction.opcode != "call" || instruction.operands.size() >= 3);
    for (const Operand& operand : instruction.operands) demand_sound(function, operand);
  }
  for (const auto& table : function.branch_tables) {
    for (const int target : table.targets) {
      demand(target >= 0 && static_cast<std::size_t>(target) <= function.instructions.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::run(data, size, [](weft::io::Bytes bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto module = weft::simulator::ptx::parse(text);
    for (const auto& variable : module.variables) {
      demand(variable.initial.size() <= variable.bytes);
      for (const auto& reference : variable.references) {
        demand(reference.offset + reference.bytes <= variable.initial.size());
      }
    }
    for (const Function& function : module.functions) demand_sound(function);
  });
}
