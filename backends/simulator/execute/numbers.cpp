#include <weft/backends/simulator/execute/numbers.h>

namespace weft::simulator {

std::optional<Rounding> rounding_of(const ptx::Instruction& instruction) {
  if (instruction.has("rn")) return Rounding::nearest;
  if (instruction.has("rz")) return Rounding::zero;
  if (instruction.has("rm")) return Rounding::down;
  if (instruction.has("rp")) return Rounding::up;
  if (instruction.has("rna")) return Rounding::away;
  return std::nullopt;
}

int host_rounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::zero:
      return FE_TOWARDZERO;
    case Rounding::down:
      return FE_DOWNWARD;
    case Rounding::up:
      return FE_UPWARD;
    case Rounding::nearest:
    case Rounding::away:
      return FE_TONEAREST;
  }
  return FE_TONEAREST;
}

}  // namespace weft::simulator
