// Conversions of the 16-bit types against a reference that searches the sorted list of all their values.
#include <gtest/gtest.h>
#include <weft/dsl/dtype.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace weft {
namespace {

/// A 16-bit format: sign, exponent, fraction.
struct Layout {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  }

  /// The value of a finite pattern without sign; of the pattern of infinity, what a further binade would
  /// hold.
  double magnitude(std::uint16_t bits) const {
    const int exponent = bits >> fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - fraction_bits);
    return std::ldexp(fraction + (1 << fraction_bits), exponent - bias() - fraction_bits);
  }

  /// Nearest, ties to the even pattern; the place of infinity stands for everything beyond it.
  std::uint16_t nearest(float value) const {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double wanted = std::fabs(static_cast<double>(value));
    std::uint16_t low = 0;
    std::uint16_t high = infinity();
    if (wanted >= magnitude(high)) return static_cast<std::uint16_t>(sign | high);
    while (high - low > 1) {
      const auto middle = static_cast<std::uint16_t>((low + high) / 2);
      (magnitude(middle) <= wanted ? low : high) = middle;
    }
    const double below = wanted - magnitude(low);
    const double above = magnitude(high) - wanted;
    const bool up = above < below || (above == below && (high & 1) == 0);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

constexpr Layout half{5, 10};
constexpr Layout brain{8, 7};

template <class T>
T from_bits(std::uint16_t bits) {
  T value;
  value.bits = bits;
  return value;
}

template <class T>
void expect_nearest(const Layout& layout, float value) {
  ASSERT_EQ(T(value).bits, layout.nearest(value)) << std::hexfloat << value;
}

template <class T>
void every_pattern_round_trips(const Layout& layout) {
  for (int pattern = 0; pattern <= 0xFFFF; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto magnitude = static_cast<std::uint16_t>(bits & 0x7FFF);
    const auto wide = static_cast<float>(from_bits<T>(bits));
    ASSERT_EQ(std::signbit(wide), bits >= 0x8000) << pattern;
    if (magnitude > layout.infinity()) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      ASSERT_GT(T(wide).bits & 0x7FFF, layout.infinity()) << pattern;
      continue;
    }
    if (magnitude == layout.infinity()) {
      ASSERT_TRUE(std::isinf(wide));
    } else {
      ASSERT_EQ(std::fabs(static_cast<double>(wide)), layout.magnitude(magnitude)) << pattern;
    }
    ASSERT_EQ(T(wide).bits, bits) << pattern;
  }
}

template <class T>
void ties_and_their_neighbours_round_as_they_should(const Layout& layout) {
  for (std::uint16_t bits = 0; bits < layout.infinity(); ++bits) {
    const double middle =
        (layout.magnitude(bits) + layout.magnitude(static_cast<std::uint16_t>(bits + 1))) / 2;
    const auto tie = static_cast<float>(middle);
    if (static_cast<double>(tie) ==
        middle) {  // bf16's smallest subnormals have theirs below the reach of f32
      ASSERT_EQ(T(tie).bits, (bits & 1) == 0 ? bits : bits + 1) << bits;
    }
    for (const float value :
         {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, std::numeric_limits<float>::infinity())}) {
      expect_nearest<T>(layout, value);
      expect_nearest<T>(layout, -value);
    }
  }
}

template <class T>
void random_floats_round_to_the_nearest(const Layout& layout) {
  std::mt19937 random(5);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) {
      ASSERT_GT(T(value).bits & 0x7FFF, layout.infinity());
    } else {
      expect_nearest<T>(layout, value);
    }
  }
}

TEST(F16, EveryPatternRoundTrips) {
  every_pattern_round_trips<f16>(half);
}
TEST(F16, TiesGoToEven) {
  ties_and_their_neighbours_round_as_they_should<f16>(half);
}
TEST(F16, RandomFloatsRoundToTheNearest) {
  random_floats_round_to_the_nearest<f16>(half);
}
TEST(Bf16, EveryPatternRoundTrips) {
  every_pattern_round_trips<bf16>(brain);
}
TEST(Bf16, TiesGoToEven) {
  ties_and_their_neighbours_round_as_they_should<bf16>(brain);
}
TEST(Bf16, RandomFloatsRoundToTheNearest) {
  random_floats_round_to_the_nearest<bf16>(brain);
}

TEST(F16, KnownValues) {
  EXPECT_EQ(f16(1.0F).bits, 0x3C00);
  EXPECT_EQ(f16(-2.0F).bits, 0xC000);
  EXPECT_EQ(f16(65504.0F).bits, 0x7BFF);
  EXPECT_EQ(f16(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(f16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(f16(0x1p-24F).bits, 0x0001);
  EXPECT_EQ(f16(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(f16(-0.0F).bits, 0x8000);
}

TEST(Bf16, KnownValues) {
  EXPECT_EQ(bf16(1.0F).bits, 0x3F80);
  EXPECT_EQ(bf16(1.0F + 0x1p-8F).bits, 0x3F80);
  EXPECT_EQ(bf16(1.0F + 0x1.8p-7F).bits, 0x3F82);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
}

TEST(DType, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
    EXPECT_GT(size_of(dtype), 0U);
  }
  EXPECT_FALSE(dtype_named("float32").has_value());
  EXPECT_FALSE(dtype_named("").has_value());
}

}  // namespace
}  // namespace weft
