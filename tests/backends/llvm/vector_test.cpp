// Vectorized loops: contiguous, gathered, masked, cut to pieces, and those that must not be vectors.
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>

#include <cmath>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

ir::Expr number(double x) {
  return ir::constant(DType::f32, x);
}

TEST(Vector, LengthsOfEveryKind) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 16, 17, 31, 64, 100, 128, 700, 1000}) {
    const auto a = input("a", DType::f32, {n});
    const auto b = output("b", DType::f32, {n});
    const ir::Expr at = v("i") - 3;
    const auto p = program(
        "double", {a, b},
        loop("i", 3, n, ir::LoopKind::vectorized, ir::store(b, {at}, ir::load(a, {at}) + ir::load(a, {at}))));
    const Array in = numbers(DType::f32, {n});
    const auto out = run(p, {in, Array(DType::f32, {n})});
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(out[1].get(i), 2 * in.get(i));
  }
}

TEST(Vector, StridedReversedAndGathered) {
  const auto a = input("a", DType::f32, {64});
  const auto index = input("index", DType::u8, {16});
  const auto b = output("b", DType::f32, {4, 16});
  const ir::Expr i = v("i");
  const ir::Stmt body = ir::block({ir::store(b, {0, i}, ir::load(a, {i * 3 + 1})),
                                   ir::store(b, {1, i}, ir::load(a, {ir::integer(20) - i})),
                                   ir::store(b, {2, i}, ir::load(a, {ir::load(index, {i})})),
                                   ir::store(b, {3, ir::integer(15) - i}, ir::load(a, {(i * i) % 64}))});
  const Array in = numbers(DType::f32, {64});
  const Array where = indices(DType::u8, {16}, 64);
  for (const int bits : {32, 64}) {
    const auto out = run(program("gather", {a, index, b}, vectorized("i", 16, body), {}, bits),
                         {in, where, Array(DType::f32, {4, 16})});
    for (std::int64_t k = 0; k < 16; ++k) {
      EXPECT_EQ(out[2].get(k), in.get(3 * k + 1));
      EXPECT_EQ(out[2].get(16 + k), in.get(20 - k));
      EXPECT_EQ(out[2].get(32 + k), in.get(where.get_integer(k)));
      EXPECT_EQ(out[2].get(48 + 15 - k), in.get(k * k % 64));
    }
  }
}

TEST(Vector, NestedMasksWithElse) {
  const auto a = input("a", DType::f32, {32});
  const auto b = both("b", DType::f32, {32});
  const auto t = local("t", DType::f32, {32});
  const ir::Expr i = v("i");
  const auto put = [&](double x) { return ir::store(b, {i}, number(x), true); };
  const ir::Stmt inner =
      ir::if_then(ir::load(a, {i}) < number(0), ir::block({ir::store(t, {i}, number(10)), put(1)}),
                  ir::if_then(i % 2 < 1, put(2), put(3)));
  const ir::Stmt body = ir::block({ir::store(t, {i}, number(5)), ir::if_then(i < v("N"), inner, put(4)),
                                   ir::store(b, {i}, ir::load(t, {i}), true)});
  const auto p = program("masks", {a, b}, ir::allocate(t, vectorized("i", 32, body)), {"N"});
  for (const std::int64_t n : {1, 5, 16, 31, 32, 40}) {
    const Array in = numbers(DType::f32, {32});
    const auto out = run(p, {in, Array(DType::f32, {32})}, {n});
    for (std::int64_t k = 0; k < 32; ++k) {
      const bool negative = k < n && in.get(k) < 0;
      const double expected = (k >= n ? 4 : negative ? 1 : k % 2 == 0 ? 2 : 3) + (negative ? 10 : 5);
      EXPECT_EQ(out[1].get(k), expected) << k << " of " << n;
    }
  }
}

TEST(Vector, MaskedLanesTouchNothing) {
  // Rows end where the buffer ends: a lane beyond it would write over the guard elements.
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8}) {
    const auto a = input("a", dtype, {64});
    const auto b = both("b", dtype, {64});
    const auto p = program(
        "tail", {a, b},
        vectorized("i", 16, ir::if_then(v("i") < v("N"), ir::store(b, {v("i")}, ir::load(a, {v("i")})))),
        {"N"});
    const Array in = indices(dtype, {64}, 100, 2);
    const Array old = indices(dtype, {64}, 100, 3);
    const auto out = run(p, {in, old}, {11});
    for (std::int64_t i = 0; i < 64; ++i)
      EXPECT_EQ(out[1].get(i), (i < 11 ? in : old).get(i)) << name_of(dtype);
  }
}

TEST(Vector, UniformReadsUnderAMaskThatNobodyPasses) {
  // The element is far outside unless some lane runs.
  const auto a = input("a", DType::f32, {4});
  const auto b = both("b", DType::f32, {8});
  const ir::Expr far = ir::load(a, {v("N") * 100'000'000});
  const auto p =
      program("far", {a, b},
              vectorized("i", 8, ir::if_then(v("N") + v("i") < 3, ir::store(b, {v("i")}, far))), {"N"});
  const auto out = run(p, {Array(DType::f32, {4}), numbers(DType::f32, {8})}, {5});
  EXPECT_EQ(out[1].get(0), numbers(DType::f32, {8}).get(0));
}

TEST(Vector, LetsThatDifferBetweenLanes) {
  const auto a = input("a", DType::f32, {64});
  const auto index = input("index", DType::i32, {16});
  const auto b = output("b", DType::f32, {2, 16});
  const ir::Expr i = v("i");
  const ir::Stmt body = ir::let(
      "j", v("K") * 2 + i,
      ir::let("k", ir::load(index, {v("j") - v("K") * 2}),
              ir::let("x", ir::load(a, {v("k")}) + ir::load(a, {v("j")}),
                      ir::block({ir::store(b, {0, v("j") - v("K") * 2}, ir::variable("x", DType::f32)),
                                 ir::store(b, {1, i}, ir::variable("x", DType::f32) * number(2))}))));
  const Array in = numbers(DType::f32, {64});
  const Array where = indices(DType::i32, {16}, 64);
  const auto out = run(program("lets", {a, index, b}, vectorized("i", 16, body), {"K"}),
                       {in, where, Array(DType::f32, {2, 16})}, {7});
  for (std::int64_t k = 0; k < 16; ++k) {
    const double x = in.get(where.get_integer(k)) + in.get(14 + k);
    EXPECT_EQ(out[2].get(k), x);
    EXPECT_EQ(out[2].get(16 + k), 2 * x);
  }
}

TEST(Vector, LoopsInside) {
  const std::int64_t rows = 3;
  const auto a = input("a", DType::f32, {8, rows});
  const auto b = input("b", DType::f32, {8, 16});
  const auto c = output("c", DType::f32, {rows, 16});
  const auto sum = local("sum", DType::f32, {rows, 16});
  const ir::Expr i = v("i");
  const ir::Expr add = ir::load(a, {v("k"), v("r")}) * ir::load(b, {v("k"), i});
  const ir::Stmt body =
      ir::block({unrolled("r0", rows, ir::store(sum, {v("r0"), i}, number(0))),
                 serial("k", v("K"), unrolled("r", rows, ir::store(sum, {v("r"), i}, add, true))),
                 unrolled("r1", rows, ir::store(c, {v("r1"), i}, ir::load(sum, {v("r1"), i})))});
  const auto p = program("tile", {a, b, c}, ir::allocate(sum, vectorized("i", 16, body)), {"K"});
  const Array x = numbers(DType::f32, {8, rows}, 2);
  const Array y = numbers(DType::f32, {8, 16}, 3);
  for (const std::int64_t depth : {1, 8}) {
    const auto out = run(p, {x, y, Array(DType::f32, {rows, 16})}, {depth});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t n = 0; n < 16; ++n) {
        float expected = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          volatile float product =
              static_cast<float>(x.get(k * rows + r)) * static_cast<float>(y.get(k * 16 + n));
          expected += product;
        }
        EXPECT_EQ(out[2].get(r * 16 + n), expected);
      }
    }
  }
}

TEST(Vector, SumsOverTheLanesRunInOrder) {
  const auto a = input("a", DType::f32, {37});
  const auto s = both("s", DType::f32, {1});
  const auto fused = both("fused", DType::f32, {1});
  const ir::Expr x = ir::load(a, {v("i")});
  const auto p = program(
      "sum", {a, s, fused},
      vectorized("i", 37,
                 ir::block({ir::store(s, {0}, x, true), ir::store(fused, {0}, x + ir::load(fused, {0}))})));
  const Array in = numbers(DType::f32, {37});
  const auto out = run(p, {in, Array(DType::f32, {1}), Array(DType::f32, {1})});
  float expected = 0;
  for (const float f : in.as<float>()) expected += f;
  EXPECT_EQ(out[1].get(0), expected);
  EXPECT_EQ(out[2].get(0), expected);
}

TEST(Vector, EqualPlacesOfAScatterAllCount) {
  const auto where = input("where", DType::i32, {64});
  const auto count = both("count", DType::i32, {8});
  const auto last = both("last", DType::i32, {8});
  const ir::Expr at = ir::load(where, {v("i")});
  const auto p = program(
      "count", {where, count, last},
      vectorized("i", 64,
                 ir::block({ir::store(count, {at}, ir::integer(1), true), ir::store(last, {at}, v("i"))})));
  const Array in = indices(DType::i32, {64}, 8);
  const auto out = run(p, {in, Array(DType::i32, {8}), Array(DType::i32, {8})});
  std::vector<std::int64_t> counts(8);
  std::vector<std::int64_t> lasts(8);
  for (std::int64_t i = 0; i < 64; ++i) {
    ++counts[static_cast<std::size_t>(in.get_integer(i))];
    lasts[static_cast<std::size_t>(in.get_integer(i))] = i;
  }
  for (std::int64_t k = 0; k < 8; ++k) {
    EXPECT_EQ(out[1].get_integer(k), counts[static_cast<std::size_t>(k)]);
    EXPECT_EQ(out[2].get_integer(k), lasts[static_cast<std::size_t>(k)]);
  }
}

TEST(Vector, RecurrencesStaySerial) {
  const auto a = both("a", DType::i32, {33});
  const auto p = program("recurrence", {a},
                         vectorized("i", 32, ir::store(a, {v("i") + 1}, ir::load(a, {v("i")}) + v("i"))));
  const auto out = run(p, {Array(DType::i32, {33})});
  for (std::int64_t i = 0; i <= 32; ++i) EXPECT_EQ(out[0].get_integer(i), i * (i - 1) / 2);
}

TEST(Vector, AllocationsInsideBelongToOneIteration) {
  const auto a = input("a", DType::f32, {8});
  const auto b = output("b", DType::f32, {8});
  const auto t = local("t", DType::f32, {});
  const ir::Stmt body = ir::allocate(t, ir::block({ir::store(t, {}, ir::load(a, {v("i")})),
                                                   ir::store(b, {v("i")}, ir::load(t, {}) * number(2))}));
  const Array in = numbers(DType::f32, {8});
  const auto out = run(program("inner", {a, b}, vectorized("i", 8, body)), {in, Array(DType::f32, {8})});
  for (std::int64_t k = 0; k < 8; ++k) EXPECT_EQ(out[1].get(k), 2 * in.get(k));
}

TEST(Vector, WideLoadsAppear) {
  llvm_backend::CpuOptions options;
  if (llvm_backend::processors_of_this_machine().size() < 5) GTEST_SKIP() << "[SKIP] no AVX-512 here";
  options.processor = "x86-64-v4";
  const std::string text =
      llvm_backend::compile_for_cpu(spmm(8, 8, 16, 16, ir::LoopKind::serial), options).assembly();
  EXPECT_NE(text.find("zmm"), std::string::npos);
  EXPECT_NE(text.find("vfmadd"), std::string::npos);
}

}  // namespace
}  // namespace weft::testing
