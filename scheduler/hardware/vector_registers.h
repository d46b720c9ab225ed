// The vector registers of a processor, as code that keeps sums in them counts them.
#pragma once

#include <cstdint>

namespace weft {

/// Of x86-64: 32 registers with AVX-512, else 16. Of aarch64: 32.
struct VectorRegisters {
  /// A register's: 64 with AVX-512, 32 with AVX2, 16 with NEON; 0: none that are told apart.
  std::int64_t bytes = 0;
  /// AVX-512's with vectors of half a register, of which some processors multiply two where they do one of
  /// the whole.
  bool halves = false;

  /// Elements of f32 in a vector.
  constexpr std::int64_t lanes() const { return bytes / (halves ? 8 : 4); }
  /// Sums that they hold beside a vector of the dense operand and, where no instruction reads a constant
  /// itself, constants.
  constexpr std::int64_t sums() const { return bytes == widest ? 31 : bytes == of_neon ? 30 : 14; }
  constexpr bool known() const { return bytes == widest || bytes == widest / 2 || bytes == of_neon; }
  /// The same registers for vectors of so many elements: half of them, or all.
  constexpr VectorRegisters with_lanes(std::int64_t lanes) const {
    return {bytes, bytes == widest && lanes == bytes / 8};
  }

  static constexpr std::int64_t widest = 64, of_neon = 16;
};

}  // namespace weft
