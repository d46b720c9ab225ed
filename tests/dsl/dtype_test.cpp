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

/// The finite numbers of a type of a byte from 0 on, by its bits of mantissa and the bias of its exponent.
std::vector<double> numbers_of(int mantissa, int bias, int largest) {
  std::vector<double> numbers;
  for (int bits = 0; bits <= largest; ++bits) {
    const int exponent = bits >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    numbers.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                                    : std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa));
  }
  return numbers;
}

/// To the nearest, to the even one of two, and to the largest from beyond it.
template <class T>
void rounds_to_one_of(const std::vector<double>& numbers) {
  std::mt19937 random(7);
  std::vector<float> values;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<float>(numbers[i]);
    ASSERT_EQ(T(number).bits, i);
    ASSERT_EQ(static_cast<double>(static_cast<float>(T(-number))), -numbers[i]);
    if (i + 1 == numbers.size()) break;
    const auto tie = static_cast<float>((numbers[i] + numbers[i + 1]) / 2);
    ASSERT_EQ(T(tie).bits, i % 2 == 0 ? i : i + 1) << tie;
    for (const float near : {std::nextafter(tie, 0.0F), std::nextafter(tie, 1e30F)}) values.push_back(near);
  }
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x7FFFFFFFU);
    if (!std::isnan(value)) values.push_back(value);
  }
  for (const float value : values) {
    const auto above = std::ranges::lower_bound(numbers, static_cast<double>(value));
    const auto place = static_cast<std::size_t>(above - numbers.begin());
    std::size_t nearest = std::min(place, numbers.size() - 1);
    if (place > 0 && place < numbers.size() &&
        static_cast<double>(value) - numbers[place - 1] < numbers[place] - static_cast<double>(value))
      nearest = place - 1;
    ASSERT_EQ(T(value).bits, nearest) << std::hexfloat << value;
  }
  EXPECT_EQ(T(std::numeric_limits<float>::infinity()).bits, numbers.size() - 1);
  EXPECT_EQ(T(-std::numeric_limits<float>::max()).bits, 0x80 + numbers.size() - 1);
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(E4m3, RoundsToOneOfItsNumbers) {
  rounds_to_one_of<e4m3>(numbers_of(3, 7, 0x7E));
  EXPECT_EQ(static_cast<float>(e4m3(1000.0F)), 448.0F);
}
TEST(E5m2, RoundsToOneOfItsNumbers) {
  rounds_to_one_of<e5m2>(numbers_of(2, 15, 0x7B));
  e5m2 infinity;
  infinity.bits = 0xFC;
  EXPECT_EQ(static_cast<float>(infinity), -std::numeric_limits<float>::infinity());
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
