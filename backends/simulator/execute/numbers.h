// Floating-point formats and exact rounding between them.
//
// Narrow formats are computed in double. A double is either exact or rounded to odd: its last bit is set when
// something was cut off. Rounding it once more, to any format with at least two bits less and in any
// direction, then gives what a single rounding of the exact value would.
#pragma once

#include <weft/backends/simulator/execute/lanes.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace weft::simulator {

enum class Rounding : std::uint8_t {
  nearest,  ///< ties to even
  zero,
  down,
  up,
  away,  ///< nearest, ties away from zero
};

/// The rounding that a modifier names: rn rz rm rp (rna); with "i" behind it, to integral values.
std::optional<Rounding> rounding_of(const ptx::Instruction& instruction, std::string_view suffix = {});
/// For std::fesetround; `away` has none.
int host_rounding(Rounding rounding);

/// Sets how this thread rounds. Only files compiled with -frounding-math may use it.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : old_(std::fegetround()) {
    std::fesetround(host_rounding(rounding));
  }
  ~RoundingScope() { std::fesetround(old_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int old_;
};

template <class B, int fraction_bits, int exponent_bits, int padding = 0>
struct Format {
  using Bits = B;
  static constexpr int fraction = fraction_bits;
  static constexpr int unused = padding;  ///< low bits that are zero
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr B sign = static_cast<B>(B{1} << (fraction + exponent_bits + padding));
  static constexpr B infinity = static_cast<B>(((B{1} << exponent_bits) - 1) << (fraction + padding));
  static constexpr B nan = static_cast<B>(sign - 1);  ///< the one that the hardware makes
  static constexpr B least_normal = static_cast<B>(B{1} << (fraction + padding));
};
using Half = Format<std::uint16_t, 10, 5>;
using Bfloat = Format<std::uint16_t, 7, 8>;
using Single = Format<std::uint32_t, 23, 8>;
using Tensor = Format<std::uint32_t, 10, 8, 13>;  ///< tf32
using Double = Format<std::uint64_t, 52, 11>;     ///< for functions of bits, and decode

/// Calls make.operator()<format, is_packed>() for a floating type; null for another.
template <class Make>
Handler for_floating(ptx::Type type, Make make) {
  switch (type) {
    case ptx::Type::f32: return make.template operator()<Single, false>();
    case ptx::Type::f64: return make.template operator()<Double, false>();
    case ptx::Type::f16: return make.template operator()<Half, false>();
    case ptx::Type::f16x2: return make.template operator()<Half, true>();
    case ptx::Type::bf16: return make.template operator()<Bfloat, false>();
    case ptx::Type::bf16x2: return make.template operator()<Bfloat, true>();
    default: return nullptr;
  }
}

inline double two_to(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

template <class F>
bool is_nan(typename F::Bits bits) {
  return static_cast<typename F::Bits>(bits & (F::sign - 1)) > F::infinity;
}

/// A subnormal becomes a zero of its sign.
template <class F>
typename F::Bits flushed(typename F::Bits bits) {
  using Bits = typename F::Bits;
  return static_cast<Bits>(bits & (F::sign - 1)) < F::least_normal ? static_cast<Bits>(bits & F::sign) : bits;
}

template <class F>
double decode(typename F::Bits bits) {
  if constexpr (std::is_same_v<F, Half>) {
    const std::uint32_t magnitude = bits & 0x7FFFU;
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    const auto value = magnitude >= 0x7C00 ? std::bit_cast<float>(0x7F80'0000U | magnitude << 13) : scaled;
    return double{(bits & 0x8000U) != 0 ? -value : value};
  } else if constexpr (std::is_same_v<F, Bfloat>) {
    return double{std::bit_cast<float>(std::uint32_t{bits} << 16)};
  } else if constexpr (std::is_same_v<F, Double>) {
    return std::bit_cast<double>(bits);
  } else {
    return double{std::bit_cast<float>(bits)};
  }
}

/// The bits of F nearest to a value, or those on the side that `rounding` says. Runs in nearest mode.
template <class F, Rounding rounding = Rounding::nearest>
typename F::Bits encode(double value) {
  using Bits = typename F::Bits;
  using enum Rounding;
  const std::uint64_t raw = std::bit_cast<std::uint64_t>(value);
  const bool negative = (raw >> 63) != 0;
  const double magnitude = std::fabs(value);
  if (!(magnitude < two_to(F::bias + 1))) {
    if (value != value) return F::nan;
    const bool stays_finite =
        rounding == zero || (rounding == up && negative) || (rounding == down && !negative);
    const bool is_infinite = magnitude > std::numeric_limits<double>::max();
    const std::uint64_t top = F::infinity >> F::unused;
    const std::uint64_t bits = (stays_finite && !is_infinite ? top - 1 : top) << F::unused;
    return static_cast<Bits>(bits | (negative ? F::sign : Bits{0}));
  }
  // Adding 2^52 units of the result's last place leaves no bits below it.
  const int exponent = std::max(static_cast<int>(raw >> 52 & 0x7FF) - 1023, 1 - F::bias);
  const double unit = two_to(exponent - F::fraction);
  const double large = two_to(exponent - F::fraction + 52);
  const double nearest_value = (magnitude + large) - large;
  auto bits = std::bit_cast<std::uint64_t>(nearest_value * two_to(F::bias - 1023)) >> (52 - F::fraction);
  if constexpr (rounding == away) {
    if (magnitude - nearest_value == unit / 2) ++bits;
  } else if constexpr (rounding != nearest) {
    const bool inwards = rounding == zero || (rounding == up) == negative;
    if (inwards && nearest_value > magnitude) --bits;
    if (!inwards && nearest_value < magnitude) ++bits;
  }
  return static_cast<Bits>(bits << F::unused | (negative ? F::sign : Bits{0}));
}

/// The sum, rounded to odd.
inline double odd_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  // Nothing was lost, or infinities leave nothing to round.
  if (error == 0 || std::isnan(error)) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
  return std::bit_cast<double>(bits);
}

/// An integer as a double, rounded to odd.
template <std::integral T>
double odd_value(T value) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(value);
  } else {
    const auto low = static_cast<double>(static_cast<std::uint32_t>(value));
    return odd_sum(static_cast<double>(value >> 32) * 4294967296.0, low);
  }
}

constexpr std::uint32_t single_nan = Single::nan;

/// What .ftz and .sat do to an f32, with the hardware's NaN.
template <bool flushes, bool saturates>
std::uint32_t finished(float value) {
  if constexpr (saturates) {
    // NaN and negative zero fail the comparison.
    value = value > 0.0F ? (value < 1.0F ? value : 1.0F) : 0.0F;
  }
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (!saturates && value != value) return single_nan;
  return flushes ? flushed<Single>(bits) : bits;
}

template <bool flushes>
float single_source(std::uint32_t raw) {
  return std::bit_cast<float>(flushes ? flushed<Single>(raw) : raw);
}

}  // namespace weft::simulator
