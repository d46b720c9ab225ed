#include <weft/dsl/dtype.h>

#include <algorithm>
#include <array>
#include <bit>

namespace weft {
namespace {

/// In the order of DType.
constexpr std::array<std::string_view, 15> names_of_types{"f16",  "bf16", "f32", "f64", "e4m3",
                                                          "e5m2", "i8",   "u8",  "i16", "u16",
                                                          "i32",  "u32",  "i64", "u64", "bool"};

/// An 8-bit floating type by its parts.
struct Byte {
  std::uint32_t mantissa;  ///< bits
  std::uint32_t bias;      ///< what is taken off the exponent
  std::uint32_t largest;   ///< the bits of the largest number
};
constexpr Byte of_e4m3{3, 7, 0x7E}, of_e5m2{2, 15, 0x7B};

constexpr std::uint32_t mantissa_of_f32 = 23, bias_of_f32 = 127;

std::uint8_t byte_of(float value, const Byte& type) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 24) & 0x80U, magnitude = word & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint8_t>(sign | 0x7FU);
  const std::uint32_t dropped = mantissa_of_f32 - type.mantissa;
  std::uint32_t bits = 0;
  if (magnitude >> mantissa_of_f32 <= bias_of_f32 - type.bias) {
    // Subnormal: the step between numbers is that of f32 beside this power of two, so that adding it rounds.
    const std::uint32_t beside = (bias_of_f32 + 1 - type.bias + dropped) << mantissa_of_f32;
    const float moved = std::bit_cast<float>(magnitude) + std::bit_cast<float>(beside);
    bits = std::bit_cast<std::uint32_t>(moved) - beside;
  } else {
    const std::uint32_t odd = (magnitude >> dropped) & 1U;
    const std::uint32_t moved = magnitude - ((bias_of_f32 - type.bias) << mantissa_of_f32);
    bits = (moved + (1U << (dropped - 1)) - 1 + odd) >> dropped;
  }
  return static_cast<std::uint8_t>(sign | std::min(bits, type.largest));
}

/// Not of NaN or infinity. As bits of an f32 the number is too small by the distance of the biases.
float number_of(std::uint8_t bits, const Byte& type) {
  const std::uint32_t sign = (bits & 0x80U) << 24;
  const std::uint32_t moved = (bits & 0x7FU) << (mantissa_of_f32 - type.mantissa);
  const float scale = std::bit_cast<float>((2 * bias_of_f32 - type.bias) << mantissa_of_f32);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(moved) * scale));
}

}  // namespace

f16::f16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000U;
  const std::uint32_t magnitude = word & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {  // NaN keeps its upper payload and stays quiet
    bits = static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
    return;
  }
  if (magnitude >= 0x477FF000U) {  // rounds to infinity
    bits = static_cast<std::uint16_t>(sign | 0x7C00U);
    return;
  }
  if (magnitude < 0x38800000U) {  // subnormal half: adding 0.5f lets the float unit do the rounding
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
    return;
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  bits = static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

f16::operator float() const {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  if (magnitude < 0x400U) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
}

bf16::bf16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7FFFFFFFU) > 0x7F800000U) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40U);
    return;
  }
  bits = static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
}

bf16::operator float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

e4m3::e4m3(float value) : bits(byte_of(value, of_e4m3)) {}

e4m3::operator float() const {
  if ((bits & 0x7FU) != 0x7FU) return number_of(bits, of_e4m3);
  return std::bit_cast<float>((bits & 0x80U) << 24 | 0x7FC00000U);
}

e5m2::e5m2(float value) : bits(byte_of(value, of_e5m2)) {}

e5m2::operator float() const {
  f16 upper;
  upper.bits = static_cast<std::uint16_t>(bits << 8);
  return static_cast<float>(upper);
}

std::string_view name_of(DType dtype) {
  const auto place = static_cast<std::size_t>(dtype);
  return place < names_of_types.size() ? names_of_types[place] : "?";
}

std::optional<DType> dtype_named(std::string_view name) {
  const auto found = std::ranges::find(names_of_types, name);
  if (found == names_of_types.end()) return std::nullopt;
  return static_cast<DType>(found - names_of_types.begin());
}

}  // namespace weft
