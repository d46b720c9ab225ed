#include <weft/backends/simulator/execute/numbers.h>

namespace weft::simulator {

std::optional<Rounding> rounding_of(const ptx::Instruction& instruction, std::string_view suffix) {
  using enum Rounding;
  static constexpr std::pair<std::string_view, Rounding> rows[] = {
      {"rn", nearest}, {"rz", zero}, {"rm", down}, {"rp", up}, {"rna", away}};
  for (const auto& [name, rounding] : rows) {
    if (instruction.has(std::string(name).append(suffix))) return rounding;
  }
  return std::nullopt;
}

int host_rounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return FE_TOWARDZERO;
    case Rounding::down: return FE_DOWNWARD;
    case Rounding::up: return FE_UPWARD;
    case Rounding::nearest:
    case Rounding::away: return FE_TONEAREST;
  }
  return FE_TONEAREST;
}

}  // namespace weft::simulator
