// The numbers that matrix instructions multiply, as this processor computes with them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft::simulator::matrix {

/// Types of the multiplicands.
enum class Element : std::uint8_t { f16, bf16, tf32, f64, s8, u8, e4m3, e5m2 };
/// Types of the accumulators.
enum class Sum : std::uint8_t { f16, f32, f64, s32 };

constexpr int bytes_of(Element element) {
  switch (element) {
    case Element::f16:
    case Element::bf16: return 2;
    case Element::tf32: return 4;
    case Element::f64: return 8;
    default: return 1;
  }
}
constexpr bool is_integer(Element element) {
  return element == Element::s8 || element == Element::u8;
}

/// What products are summed in: f64 holds those of all but f64 exactly.
template <Element element>
using Number = std::conditional_t<is_integer(element), std::int32_t, double>;

/// Without branches, so that loops over it vectorise: the multiplication makes normal numbers of subnormals.
inline float half_value(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7FFFU;
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x7C00U ? 0x7F80'0000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite) | special | (bits & 0x8000U) << 16);
}

/// e4m3 has no infinities; its exponent starts at 2^-6.
inline float e4m3_value(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7FU;
  const float finite = std::bit_cast<float>(magnitude << 20) * 0x1p120F;
  const float value = magnitude == 0x7FU ? std::numeric_limits<float>::quiet_NaN() : finite;
  return (bits & 0x80U) != 0 ? -value : value;
}

/// Element `index` of a piece of a register or of memory.
template <Element element>
Number<element> number(const void* from, int index) {
  const auto* bytes = static_cast<const unsigned char*>(from) + index * bytes_of(element);
  if constexpr (element == Element::s8) {
    return static_cast<std::int8_t>(*bytes);
  } else if constexpr (element == Element::u8) {
    return *bytes;
  } else if constexpr (element == Element::e4m3) {
    return e4m3_value(*bytes);
  } else if constexpr (element == Element::e5m2) {
    return half_value(std::uint32_t{*bytes} << 8);
  } else if constexpr (element == Element::f64) {
    double value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  } else if constexpr (element == Element::tf32) {
    // The tensor core drops the bits that a tf32 does not have.
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    return std::bit_cast<float>(bits & 0xFFFF'E000U);
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    if constexpr (element == Element::bf16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
    return half_value(bits);
  }
}

/// Rounded to nearest, ties to even; a NaN is the one that the tensor core gives.
inline std::uint32_t single_bits(double value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return value == value ? bits : 0x7FFF'FFFFU;
}

/// Likewise to f16, rounded once: the step over f32 rounds to odd.
std::uint16_t half_bits(double value);

}  // namespace weft::simulator::matrix
