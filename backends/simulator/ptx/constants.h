// Literals and constant expressions: PTX ISA, chapter 4.5.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>

#include <cstdint>

namespace weft::simulator::ptx {

struct Constant {
  std::uint64_t bits = 0;    ///< an integer's two's complement, a real's f64, or f32 if is_single
  bool is_unsigned = false;  ///< whether an integer is unsigned
  bool is_real = false;
  bool is_single = false;  ///< 0fXXXXXXXX: `bits` are those of an f32
};

/// A literal or an expression of literals: "(1<<4)+3", "-1.5", "0f3F800000". Arithmetic is that of the ISA:
/// 64 bits, signed unless a literal says U or does not fit.
Constant read_constant(Lexer& lexer);
/// The same, where a real is refused.
std::uint64_t read_integer(Lexer& lexer);
/// The same, at least `least` and at most `most`.
std::int64_t read_bounded(Lexer& lexer, std::int64_t least, std::int64_t most, std::string_view accepted);

/// One number token, without what may follow it.
Constant read_literal(const Token& token);

/// Does a constant expression begin with this token?
bool starts_constant(const Token& token);

}  // namespace weft::simulator::ptx
