// Element types: what a tensor's elements are, how wide, how they convert.
#pragma once

#include <weft/dsl/compiler.h>
#include <weft/dsl/refused_call.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

namespace weft {

/// The element types that weft stores and computes with. Floating types come first.
enum class DType : std::uint8_t {
  f16,
  bf16,
  f32,
  f64,
  e4m3,
  e5m2,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
#if defined(WEFT_NO_NAME)
#define WEFT_NO_DTYPE(name, instead)                                                                      \
  name WEFT_NO_NAME("there is no DType::" #name "; accepted: DType::" #instead ", and in types " #instead \
                    " alone") = instead
  // What other libraries call them. A compiler that proposes one where a type belongs shows its line.
  WEFT_NO_DTYPE(float16, f16),  // there is no float16; accepted: f16, as in Tensor<f16, 2>
  WEFT_NO_DTYPE(fp16, f16),     // there is no fp16; accepted: f16, as in Tensor<f16, 2>
  WEFT_NO_DTYPE(half, f16),     // there is no half; accepted: f16, as in Tensor<f16, 2>
  WEFT_NO_DTYPE(F16, f16),
  WEFT_NO_DTYPE(bfloat16, bf16),  // there is no bfloat16; accepted: bf16, as in Tensor<bf16, 2>
  WEFT_NO_DTYPE(BF16, bf16),
  WEFT_NO_DTYPE(float32, f32),  // there is no float32; accepted: f32, as in Tensor<f32, 2>
  WEFT_NO_DTYPE(fp32, f32),     // there is no fp32; accepted: f32, as in Tensor<f32, 2>
  WEFT_NO_DTYPE(F32, f32),
  WEFT_NO_DTYPE(float64, f64),  // there is no float64; accepted: f64, as in Tensor<f64, 2>
  WEFT_NO_DTYPE(fp64, f64),     // there is no fp64; accepted: f64, as in Tensor<f64, 2>
  WEFT_NO_DTYPE(F64, f64),
  WEFT_NO_DTYPE(float8_e4m3fn, e4m3),  // there is no float8_e4m3fn; accepted: e4m3, as in Tensor<e4m3, 2>
  WEFT_NO_DTYPE(fp8, e4m3),            // there is no fp8; accepted: e4m3 or e5m2, as in Tensor<e4m3, 2>
  WEFT_NO_DTYPE(float8_e5m2, e5m2),    // there is no float8_e5m2; accepted: e5m2, as in Tensor<e5m2, 2>
  WEFT_NO_DTYPE(int8, i8),
  WEFT_NO_DTYPE(uint8, u8),
  WEFT_NO_DTYPE(int16, i16),
  WEFT_NO_DTYPE(uint16, u16),
  WEFT_NO_DTYPE(int32, i32),
  WEFT_NO_DTYPE(uint32, u32),
  WEFT_NO_DTYPE(int64, i64),
  WEFT_NO_DTYPE(uint64, u64),
#undef WEFT_NO_DTYPE
#endif
};

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

/// Eight bits, four of them exponent: 2^-9 to 448, no infinities, one NaN of either sign. Storage only. As
/// GPUs convert: rounded to nearest, ties to even, what is larger (infinity too) becomes the largest number.
/// OCP 8-bit floating point specification, E4M3.
struct e4m3 {
  std::uint8_t bits = 0;
  e4m3() = default;
  explicit e4m3(float value);
  explicit operator float() const;
};

/// Eight bits, five of them exponent, as the upper half of f16 has them: 2^-16 to 57344. Storage only.
/// Converted to like e4m3, so that infinity is only read. OCP 8-bit floating point specification, E5M2.
struct e5m2 {
  std::uint8_t bits = 0;
  e5m2() = default;
  explicit e5m2(float value);
  explicit operator float() const;
};

using f32 = float;
using f64 = double;
/// Products of these are summed as integers where tensor cores do it, and in f32 elsewhere: sums below 2^24
/// are the same.
using i8 = std::int8_t;

namespace detail {

template <class... Types>
struct ElementList {
  static constexpr std::size_t sizes[] = {sizeof(Types)...};
  /// The number of types where it is none of them.
  template <class T>
  static constexpr std::size_t place_of() {
    std::size_t place = 0;
    static_cast<void>(((std::is_same_v<T, Types> || ++place == 0) || ...));
    return place;
  }
};
/// The C++ types in the order of DType.
using Elements = ElementList<f16, bf16, f32, f64, e4m3, e5m2, std::int8_t, std::uint8_t, std::int16_t,
                             std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, bool>;

template <class T>
constexpr DType dtype_of_type() {
  constexpr std::size_t place = Elements::place_of<T>();
  static_assert(place < std::size(Elements::sizes), "weft: a C++ type is none of weft's element types");
  return static_cast<DType>(place);
}

}  // namespace detail

/// The DType of a C++ element type.
template <class T>
inline constexpr DType dtype_of = detail::dtype_of_type<T>();

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  const auto place = static_cast<std::size_t>(dtype);
  return place < std::size(detail::Elements::sizes) ? detail::Elements::sizes[place] : 0;
}

constexpr bool is_float(DType dtype) {
  return dtype <= DType::e5m2;
}
/// e4m3 and e5m2.
constexpr bool is_float_of_a_byte(DType dtype) {
  return dtype == DType::e4m3 || dtype == DType::e5m2;
}
/// What products are made of: floating types and i8.
constexpr bool is_factor(DType dtype) {
  return is_float(dtype) || dtype == DType::i8;
}
constexpr bool is_factor_of_a_byte(DType dtype) {
  return is_float_of_a_byte(dtype) || dtype == DType::i8;
}
constexpr bool is_signed_integer(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

/// The type in which products of `dtype` are summed: f64 for f64, f32 for every other floating type.
constexpr DType accumulator_of(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// Whether a sum of products of `factors` may be stored as `output`: as their own type, as f32, as a type of
/// a byte, and of 8-bit types as f16 and bf16 too.
constexpr bool output_fits_factors(DType output, DType factors) {
  const bool is_16_bit = output == DType::f16 || output == DType::bf16;
  return output == factors || output == DType::f32 || is_factor_of_a_byte(output) ||
         (is_factor_of_a_byte(factors) && is_16_bit);
}

/// "f32", "bf16", "i64", "bool": the spelling used in messages, flags and files of our own.
std::string_view name_of(DType dtype);
/// The inverse of name_of; nothing when the name is not one of them.
std::optional<DType> dtype_named(std::string_view name);

}  // namespace weft
