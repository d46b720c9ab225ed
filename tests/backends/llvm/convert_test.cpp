// Conversions against those of the host's element types, for every f16 and bf16 and for the hard cases of
// f32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

/// Converts every element of `in`, vectorized and one by one, which must agree.
Array converted(const Array& in, DType to) {
  const std::int64_t n = in.size();
  const auto a = input("a", in.dtype(), {n});
  const auto b = output("b", to, {n});
  const ir::Expr at = v("o") * 16 + v("i");
  const ir::Stmt body = ir::store(b, {at}, ir::cast(to, ir::load(a, {at})));
  std::vector<Array> results;
  for (const auto kind : {ir::LoopKind::vectorized, ir::LoopKind::unrolled}) {
    const auto p = program("convert", {a, b}, serial("o", n / 16, loop("i", 0, 16, kind, body)));
    results.push_back(run(p, {in, Array(to, {n})})[1]);
  }
  for (std::size_t byte = 0; byte < results[0].bytes(); ++byte) {
    if (results[0].data()[byte] != results[1].data()[byte]) {
      ADD_FAILURE() << "vectors convert otherwise than numbers, byte " << byte;
      break;
    }
  }
  return results[0];
}

/// Numbers around every rounding decision of both 16-bit types, and the special ones.
Array hard_numbers() {
  std::vector<float> list;
  for (std::uint32_t high = 0; high < 0x10000; high += 3) {
    for (const std::uint32_t low :
         {0x0000U, 0x0FFFU, 0x1000U, 0x1001U, 0x2FFFU, 0x3000U, 0x3001U, 0x7FFFU, 0x8000U, 0x8001U}) {
      list.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  list.resize(list.size() / 16 * 16);
  return Array::of(list);
}

template <class Narrow>
void compare_from_f32(DType dtype) {
  const Array in = hard_numbers();
  const Array out = converted(in, dtype);
  int wrong = 0;
  for (std::size_t i = 0; i < in.as<float>().size() && wrong < 5; ++i) {
    const float x = in.as<float>()[i];
    const Narrow expected(x);
    const Narrow found = out.as<Narrow>()[i];
    const bool same = std::isnan(x) ? std::isnan(static_cast<float>(found)) : found.bits == expected.bits;
    if (!same) ++wrong;
    EXPECT_TRUE(same) << x << " became " << found.bits << ", not " << expected.bits;
  }
}

TEST(Convert, F32ToF16) {
  compare_from_f32<f16>(DType::f16);
}
TEST(Convert, F32ToBf16) {
  compare_from_f32<bf16>(DType::bf16);
}

template <class Narrow>
void compare_to_f32() {
  std::vector<Narrow> list(0x10000);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) list[bits].bits = static_cast<std::uint16_t>(bits);
  const Array out = converted(Array::of(list), DType::f32);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto expected = static_cast<float>(list[bits]);
    const float found = out.as<float>()[bits];
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << bits;
    }
  }
}

TEST(Convert, F16ToF32) {
  compare_to_f32<f16>();
}
TEST(Convert, Bf16ToF32) {
  compare_to_f32<bf16>();
}

TEST(Convert, F32ToTypesOfAByte) {
  compare_from_f32<e4m3>(DType::e4m3);
  compare_from_f32<e5m2>(DType::e5m2);
}

TEST(Convert, FloatsToNarrowIntegersSaturate) {
  const Array single = hard_numbers();
  for (const DType to : {DType::i8, DType::u8, DType::i16, DType::u16}) {
    for (const Array& in : {single, single.converted(DType::f64), single.converted(DType::f16)}) {
      const Array out = converted(in, to), expected = in.converted(to);
      for (std::int64_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(out.get(i), expected.get(i)) << in.get(i) << " of " << name_of(in.dtype());
    }
  }
}

TEST(Convert, F64RoundsOnce) {
  // Just above the middle between two halves, by less than an f32 can say: rounding twice would go to even.
  const double above = 1 + 0x1p-11 + 0x1p-40;
  const double below = 1 + 3 * 0x1p-11 - 0x1p-40;
  std::vector<double> list(16);
  list[0] = above;
  list[1] = -above;
  list[2] = below;
  list[3] = 1 + 0x1p-8 + 0x1p-40;  // the same for bf16
  list[4] = 1e300;
  list[5] = -1e-300;
  list[6] = std::numeric_limits<double>::quiet_NaN();
  list[7] = std::numeric_limits<double>::infinity();
  list[8] = 0x1p-25 + 0x1p-60;  // above half of the smallest half
  list[9] = 65504;
  list[10] = 65519.999999999;
  list[11] = 65520;
  const Array in = Array::of(list);
  const Array half = converted(in, DType::f16);
  EXPECT_EQ(half.get(0), 1 + 0x1p-10);
  EXPECT_EQ(half.get(1), -1 - 0x1p-10);
  EXPECT_EQ(half.get(2), 1 + 0x1p-10);
  EXPECT_TRUE(std::isinf(half.get(4)));
  EXPECT_EQ(half.get(5), 0);
  EXPECT_TRUE(std::signbit(half.get(5)));
  EXPECT_TRUE(std::isnan(half.get(6)));
  EXPECT_TRUE(std::isinf(half.get(7)));
  EXPECT_EQ(half.get(8), 0x1p-24);
  EXPECT_EQ(half.get(9), 65504);
  EXPECT_EQ(half.get(10), 65504);
  EXPECT_TRUE(std::isinf(half.get(11)));
  const Array brain = converted(in, DType::bf16);
  EXPECT_EQ(brain.get(3), 1 + 0x1p-7);
  EXPECT_TRUE(std::isinf(brain.get(4)));
  EXPECT_TRUE(std::isnan(brain.get(6)));
}

TEST(Convert, FloatsToIntegersRoundToEvenAndStayInRange) {
  std::vector<float> list{0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 3e9F, -3e9F, 7, 0, 0, 0, 0, 0, 0, 0, 0};
  const Array out = converted(Array::of(list), DType::i64);
  const std::vector<std::int64_t> expected{0, 2, 2, 0, -2, INT32_MAX, INT32_MIN, 7};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(out.get_integer(static_cast<std::int64_t>(i)), expected[i]) << list[i];
  }
}

TEST(Convert, SumsOfNarrowBuffersRoundOnce) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto a = input("a", dtype, {32});
    const auto b = both("b", dtype, {32});
    const Array x = numbers(dtype, {32}, 2);
    const Array y = numbers(dtype, {32}, 3);
    const auto p =
        program("add", {a, b}, vectorized("i", 32, ir::store(b, {v("i")}, ir::load(a, {v("i")}), true)));
    const auto out = run(p, {x, y});
    for (std::int64_t i = 0; i < 32; ++i) {
      Array expected(dtype, {1});
      expected.set(0, x.get(i) + y.get(i));
      EXPECT_EQ(out[1].get(i), expected.get(0));
    }
  }
}

TEST(Convert, ConstantsRoundOnce) {
  const auto out = output("out", DType::f16, {2});
  const auto p = program("constants", {out},
                         ir::block({ir::store(out, {0}, ir::constant(DType::f16, 1 + 0x1p-11 + 0x1p-40)),
                                    ir::store(out, {1}, ir::constant(DType::f16, 0x1p-24))}));
  const auto result = run(p, {Array(DType::f16, {2})});
  EXPECT_EQ(result[0].get(0), 1 + 0x1p-10);
  EXPECT_EQ(result[0].get(1), 0x1p-24);
}

}  // namespace
}  // namespace weft::testing
