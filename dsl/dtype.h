// Element types: what a tensor's elements are, how wide, how they convert.
#pragma once

#include <weft/dsl/compiler.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// The element types that weft stores and computes with. Floating types come first.
enum class DType : std::uint8_t { f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

/// IEEE binary16, storage only: arithmetic is done in f32.
struct f16 {
  std::uint16_t bits = 0;
  f16() = default;
  explicit f16(float value);  ///< rounds to nearest, ties to even
  explicit operator float() const;
};

/// The upper half of an f32, storage only: arithmetic is done in f32.
struct bf16 {
  std::uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value);  ///< rounds to nearest, ties to even
  explicit operator float() const;
};

using f32 = float;
using f64 = double;

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  return 0;
}

constexpr bool is_float(DType dtype) {
  return dtype <= DType::f64;
}
constexpr bool is_signed_integer(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

/// The type in which products of `dtype` are summed: f64 for f64, f32 for every other floating type.
constexpr DType accumulator_of(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// "f32", "bf16", "i64", "bool": the spelling used in messages, flags and files of our own.
std::string_view name_of(DType dtype);
/// The inverse of name_of; nothing when the name is not one of them.
std::optional<DType> dtype_named(std::string_view name);

/// The DType of a C++ element type.
template <class T>
struct dtype_of_type;
template <>
struct dtype_of_type<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_of_type<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of_type<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of_type<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of_type<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct dtype_of_type<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of_type<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct dtype_of_type<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct dtype_of_type<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of_type<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct dtype_of_type<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of_type<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct dtype_of_type<bool> {
  static constexpr DType value = DType::boolean;
};

template <class T>
inline constexpr DType dtype_of = dtype_of_type<T>::value;

}  // namespace weft
