#include <weft/dsl/dtype.h>

#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 13> names{{{DType::f16, "f16"},
                                                                    {DType::bf16, "bf16"},
                                                                    {DType::f32, "f32"},
                                                                    {DType::f64, "f64"},
                                                                    {DType::i8, "i8"},
                                                                    {DType::u8, "u8"},
                                                                    {DType::i16, "i16"},
                                                                    {DType::u16, "u16"},
                                                                    {DType::i32, "i32"},
                                                                    {DType::u32, "u32"},
                                                                    {DType::i64, "i64"},
                                                                    {DType::u64, "u64"},
                                                                    {DType::boolean, "bool"}}};

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
  if (magnitude >= 0x7C00U) {
    return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  }
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

std::string_view name_of(DType dtype) {
  for (const auto& [candidate, name] : names) {
    if (candidate == dtype) return name;
  }
  return "?";
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const auto& [dtype, candidate] : names) {
    if (candidate == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace weft
