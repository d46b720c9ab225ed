#include "matrix_numbers.h"

#include <weft/dsl/dtype.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace weft::simulator::testing {
namespace {

struct TypeFacts {
  std::string_view name;
  int bytes;
};

constexpr std::array<TypeFacts, 10> facts{{{"f16", 2},
                                           {"bf16", 2},
                                           {"tf32", 4},
                                           {"f32", 4},
                                           {"f64", 8},
                                           {"s8", 1},
                                           {"u8", 1},
                                           {"s32", 4},
                                           {"e4m3", 1},
                                           {"e5m2", 1}}};

const TypeFacts& fact(Type type) {
  return facts[static_cast<std::size_t>(type)];
}

double decode_quarter(std::uint64_t bits, int fraction_bits, int bias) {
  const auto magnitude = static_cast<int>(bits & 0x7F);
  const int exponent = magnitude >> fraction_bits;
  const int fraction = magnitude & ((1 << fraction_bits) - 1);
  const double value = exponent == 0
                           ? std::ldexp(fraction, 1 - bias - fraction_bits)
                           : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return (bits & 0x80) != 0 ? -value : value;
}

/// By trying all 256; the ends of the range (NaN, infinity) are never the nearest to what is drawn.
std::uint64_t encode_quarter(Type type, double value) {
  static const auto table = [] {
    std::array<std::array<double, 256>, 2> values{};
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      values[0][bits] = decode(Type::e4m3, bits);
      values[1][bits] = decode(Type::e5m2, bits);
    }
    return values;
  }();
  const auto& values = table[type == Type::e4m3 ? 0 : 1];
  const auto nearest =
      std::ranges::min_element(values, {}, [value](double each) { return std::abs(each - value); });
  return static_cast<std::uint64_t>(nearest - values.begin());
}

}  // namespace

std::string_view name_of(Type type) {
  return fact(type).name;
}
int bytes_of(Type type) {
  return fact(type).bytes;
}
bool is_integer(Type type) {
  return type == Type::s8 || type == Type::u8 || type == Type::s32;
}

std::uint64_t encode(Type type, double value) {
  switch (type) {
    case Type::f16: return f16(static_cast<float>(value)).bits;
    case Type::bf16: return bf16(static_cast<float>(value)).bits;
    case Type::tf32:
    case Type::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Type::f64: return std::bit_cast<std::uint64_t>(value);
    case Type::s8:
    case Type::u8: return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & 0xFFU;
    case Type::s32: return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
    case Type::e4m3:
    case Type::e5m2: return encode_quarter(type, value);
  }
  return 0;
}

double decode(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::f16: {
      f16 value;
      value.bits = static_cast<std::uint16_t>(bits);
      return static_cast<double>(static_cast<float>(value));
    }
    case Type::bf16: return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case Type::tf32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & ~0x1FFFU);
    case Type::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Type::f64: return std::bit_cast<double>(bits);
    case Type::s8: return static_cast<std::int8_t>(bits);
    case Type::u8: return static_cast<std::uint8_t>(bits);
    case Type::s32: return static_cast<std::int32_t>(bits);
    case Type::e4m3: return decode_quarter(bits, 3, 7);
    case Type::e5m2: return decode_quarter(bits, 2, 15);
  }
  return 0;
}

std::uint64_t Draw::operand(Type type, bool is_whole) {
  if (type == Type::s8 || type == Type::u8) return word() & 0xFFU;
  if (type == Type::s32) {  // often near the ends of the range
    const std::uint32_t bits = word();
    return below(2) == 0 ? bits : (bits & 0x8000'0000U) ^ 0x7FFF'FFFFU ^ (bits & 0xFFFU);
  }
  if (is_whole) return encode(type, below(17) - 8);
  return encode(type, static_cast<double>(static_cast<std::int32_t>(word())) * 0x1p-31);
}

Operands::Operands(Type type, int rows, int across, bool is_whole, Draw& draw) : columns(across) {
  for (int i = 0; i < rows * across; ++i) {
    bits.push_back(draw.operand(type, is_whole));
    values.push_back(decode(type, bits.back()));
  }
}

}  // namespace weft::simulator::testing
