// The vector registers of a processor, as code that keeps sums in them counts them.
#pragma once

#include <cstdint>

namespace weft {

/// Of x86-64: 32 registers with AVX-512, else 16.
struct VectorRegisters {
  std::int64_t bytes = 0;  ///< a vector's: 64 with AVX-512, 32 with AVX2; 0: none that are told apart

  /// Elements of f32.
  constexpr std::int64_t lanes() const { return bytes / 4; }
  /// Sums that they hold beside a vector of the dense operand and, where no instruction reads a constant
  /// itself, that.
  constexpr std::int64_t sums() const { return bytes == widest ? 31 : 14; }
  constexpr bool known() const { return bytes == widest || bytes == widest / 2; }

  static constexpr std::int64_t widest = 64;
};

}  // namespace weft
