#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "scalar_kernels.h"

namespace weft::simulator::scalar_tests {
namespace {

using Corners = std::vector<std::uint64_t>;

template <class T>
Corners integer_corners() {
  constexpr int bits = sizeof(T) * 8;
  constexpr std::uint64_t top = std::uint64_t{1} << (bits - 1);
  constexpr std::uint64_t all = top | (top - 1);
  Corners corners{0, 1, all, top, top - 1, 2, 3, all - 1, top + 1, top >> 1, all / 3, 7, 31, 32, 100};
  return corners;
}

/// Bits of a format with these numbers of exponent and fraction bits.
Corners floating_corners(int exponent, int fraction) {
  const std::uint64_t sign = std::uint64_t{1} << (exponent + fraction);
  const std::uint64_t least_normal = std::uint64_t{1} << fraction;
  const std::uint64_t infinity = sign - least_normal;
  const std::uint64_t bias = (std::uint64_t{1} << (exponent - 1)) - 1;
  const std::uint64_t one = bias << fraction;
  return {0,
          sign,
          one,
          sign | one,
          infinity,
          sign | infinity,
          infinity | 1,
          sign - 1,
          1,
          sign | 1,
          least_normal,
          least_normal - 1,
          sign | (least_normal - 1),
          infinity - 1,
          sign | (infinity - 1),
          one + 1,
          one - 1,
          one + (least_normal >> 1),
          (bias - 1) << fraction,
          (bias + 1) << fraction | least_normal >> 2};
}

Corners numbers(std::initializer_list<double> values) {
  Corners corners;
  for (const double value : values)
    corners.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  return corners;
}

Corners paired(const Corners& halves) {
  Corners pairs;
  for (std::size_t i = 0; i < halves.size(); ++i)
    pairs.push_back(halves[i] | halves[(i * 7 + 3) % halves.size()] << 16);
  return pairs;
}

Corners with(Corners corners, const Corners& more) {
  corners.insert(corners.end(), more.begin(), more.end());
  return corners;
}

Corners doubles(std::initializer_list<double> values) {
  Corners corners;
  for (const double value : values) corners.push_back(std::bit_cast<std::uint64_t>(value));
  return corners;
}

Corners make_corners(Value value) {
  switch (value) {
    case Value::b8: return integer_corners<std::uint8_t>();
    case Value::u16:
    case Value::s16: return integer_corners<std::uint16_t>();
    case Value::u32:
    case Value::s32:
      return with(integer_corners<std::uint32_t>(), {0xFF, 0x100, 0xFFFF, 0x10000, 0xFFFF8000, 0x01000001});
    case Value::u64:
    case Value::s64:
      return with(integer_corners<std::uint64_t>(),
                  {0xFFFFFFFF, 0x100000000, 0x0020000000000001, 0x8000000000000400});
    case Value::divisor16: return {1, 0xFFFF, 0x8000, 0x7FFF, 2, 3, 10, 255, 256};
    case Value::divisor32: return {1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 2, 3, 10, 65535, 65536, 0};
    case Value::divisor64:
      return {1, ~std::uint64_t{0}, std::uint64_t{1} << 63, 2, 3, 10, 0xFFFFFFFF, 0x100000000, 0x100000001};
    case Value::f16: return floating_corners(5, 10);
    case Value::bf16: return floating_corners(8, 7);
    case Value::f16x2: return paired(floating_corners(5, 10));
    case Value::bf16x2: return paired(floating_corners(8, 7));
    case Value::f32:
      return with(floating_corners(8, 23),
                  numbers({0.5,           1.5,          2.5,          -0.5,   -2.5,    127.5,  128,
                           255.5,         32767.5,      65535.5,      65504,  65520,   -129,   2147483648.0,
                           -2147483648.0, 4294967040.0, 4294967296.0, 9.3e18, -9.3e18, 1.85e19}));
    case Value::f64:
      return with(
          floating_corners(11, 52),
          doubles({0.5, 1.5, 2.5, -0.5, 2147483647.5, -2147483648.5, 4294967295.5, 65520, 3.4e38, 3.5e38,
                   9223372036854775808.0, -9223372036854775808.0, 1.8446744073709552e19, 1e-45, 7e-46}));
    case Value::predicate: return {0, 1};
    case Value::count: return {0, 1, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 255, 256, 0xFFFFFFFF, 5};
    case Value::position: return {0, 1, 30, 31};
    case Value::small: return {0, 1, 2, 0xFFFFFFFF, 0xFFFFFFFE, 20, 33};
    case Value::angle: return numbers({0, 1, -1, 0.5, 1.5707964, -1.5707964, 3.1415925, -3.1415925, 0.001});
  }
  return {};
}

std::uint64_t mask_of(Value value) {
  const int bits = bytes_of(value) * 8;
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::uint64_t draw_floating(int exponent_bits, int fraction, std::mt19937_64& random) {
  const std::uint64_t raw = random();
  const std::uint64_t sign = raw & 1;
  std::uint64_t mantissa = random() & ((std::uint64_t{1} << fraction) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(raw >> 8 & ((1U << exponent_bits) - 1));
  const auto near_one = static_cast<int>(raw >> 24 & 15);
  const auto in_half = static_cast<int>(raw >> 24 & 63);
  if ((raw >> 1 & 3) != 0) exponent = bias + near_one - 8;
  if ((raw >> 1 & 7) == 5 && exponent_bits > 5) exponent = bias + in_half - 40;
  // A short mantissa makes ties.
  if ((raw >> 4 & 3) == 0) {
    const auto kept = static_cast<int>(raw >> 32 & 15);
    const int cut = fraction - std::min(fraction, kept);
    mantissa = mantissa >> cut << cut;
  }
  return sign << (exponent_bits + fraction) | static_cast<std::uint64_t>(exponent) << fraction | mantissa;
}

struct Shape {
  int exponent = 0, fraction = 0, parts = 1;
};
Shape shape_of(Value value) {
  switch (value) {
    case Value::f16: return {5, 10};
    case Value::bf16: return {8, 7};
    case Value::f16x2: return {5, 10, 2};
    case Value::bf16x2: return {8, 7, 2};
    case Value::f32:
    case Value::angle: return {8, 23};
    case Value::f64: return {11, 52};
    default: return {};
  }
}

double number_of(const Shape& shape, std::uint64_t bits) {
  const std::uint64_t sign = std::uint64_t{1} << (shape.exponent + shape.fraction);
  const std::uint64_t magnitude = bits & (sign - 1);
  const auto exponent = static_cast<int>(magnitude >> shape.fraction);
  const int top = (1 << shape.exponent) - 1, bias = top >> 1;
  const auto mantissa = static_cast<double>(magnitude & ((std::uint64_t{1} << shape.fraction) - 1)) *
                        std::ldexp(1, -shape.fraction);
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  if (exponent == top) value = mantissa == 0 ? HUGE_VAL : std::nan("");
  return (bits & sign) != 0 ? -value : value;
}

}  // namespace

bool is_floating(Value value) {
  return shape_of(value).exponent != 0;
}

int bytes_of(Value value) {
  switch (value) {
    case Value::b8: return 1;
    case Value::u16:
    case Value::s16:
    case Value::f16:
    case Value::bf16:
    case Value::divisor16: return 2;
    case Value::u64:
    case Value::s64:
    case Value::f64:
    case Value::divisor64: return 8;
    default: return 4;
  }
}

std::span<const std::uint64_t> corners_of(Value value) {
  static std::array<Corners, 32> known;
  Corners& corners = known[static_cast<std::size_t>(value)];
  if (corners.empty()) corners = make_corners(value);
  return corners;
}

std::uint64_t draw(Value value, std::mt19937_64& random) {
  const auto corners = corners_of(value);
  if (random() % 4 == 0) return corners[random() % corners.size()];
  if (value == Value::angle) {
    const double turn = static_cast<double>(random() >> 11) * 0x1p-53;
    return std::bit_cast<std::uint32_t>(static_cast<float>((turn * 2 - 1) * 3.14159));
  }
  const Shape shape = shape_of(value);
  if (shape.exponent != 0) {
    const std::uint64_t low = draw_floating(shape.exponent, shape.fraction, random);
    return shape.parts == 1 ? low : low | draw_floating(shape.exponent, shape.fraction, random) << 16;
  }
  switch (value) {
    case Value::predicate: return random() & 1;
    case Value::count: return random() % 70;
    case Value::position: return random() % 32;
    case Value::small: return (random() % 41 - 20) & 0xFFFFFFFF;
    default: break;
  }
  // Of every length.
  std::uint64_t bits = random() & mask_of(value);
  bits >>= random() % static_cast<std::uint64_t>(bytes_of(value) * 8);
  if (random() % 2 == 0) bits = ~bits & mask_of(value);
  const bool divides = value == Value::divisor16 || value == Value::divisor32 || value == Value::divisor64;
  return divides && bits == 0 ? 1 : bits;
}

std::uint64_t with_plain_nan(Value value, std::uint64_t bits) {
  const Shape shape = shape_of(value);
  if (shape.exponent == 0) return bits;
  const int width = 1 + shape.exponent + shape.fraction;
  const std::uint64_t ones = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  std::uint64_t result = 0;
  for (int part = 0; part < shape.parts; ++part) {
    std::uint64_t element = bits >> (part * width) & ones;
    const std::uint64_t magnitude = element & (ones >> 1);
    if (magnitude > (ones >> 1) - ((std::uint64_t{1} << shape.fraction) - 1)) element = ones >> 1;
    result |= element << (part * width);
  }
  return result;
}

bool is_near(Value value, std::uint64_t bits, std::uint64_t other, double relative, double absolute) {
  const Shape shape = shape_of(value);
  const int width = 1 + shape.exponent + shape.fraction;
  const std::uint64_t ones = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  for (int part = 0; part < shape.parts; ++part) {
    const double a = number_of(shape, bits >> (part * width) & ones);
    const double b = number_of(shape, other >> (part * width) & ones);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    if (!(std::fabs(a - b) <= absolute + relative * std::fabs(b))) return false;
  }
  return true;
}

}  // namespace weft::simulator::scalar_tests
