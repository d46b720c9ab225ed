// Programs on the CPU against plain C++: index arithmetic, element types, Select, calls.
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/fold.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

ir::Expr number(double x) {
  return ir::constant(DType::f32, x);
}

TEST(Cpu, ScalarLoop) {
  const auto a = input("a", DType::f32, {v("N")});
  const auto b = output("b", DType::f32, {v("N")});
  const auto p = program(
      "scale", {a, b}, serial("i", v("N"), ir::store(b, {v("i")}, ir::load(a, {v("i")}) * number(3))), {"N"});
  for (const std::int64_t n : {1, 2, 7, 64, 129}) {
    const Array in = numbers(DType::f32, {n});
    const auto out = run(p, {in, Array(DType::f32, {n})}, {n});
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(out[1].get(i), static_cast<float>(in.get(i)) * 3.0F);
  }
}

TEST(Cpu, DivisionRoundsDown) {
  for (const int bits : {32, 64}) {
    for (const std::int64_t divisor : {1, 2, 3, 7, 8, 10}) {
      const auto out = output("out", DType::i64, {2, 41});
      const ir::Expr x = v("i") - 20;
      const auto row = [&](std::int64_t which, const ir::Expr& e) {
        return ir::store(out, {which, v("i")}, e);
      };
      // Once the divisor is known, once it is loaded.
      const auto d = input("d", DType::i32, {1});
      const ir::Expr loaded = ir::load(d, {0});
      Array divisors(DType::i32, {1});
      divisors.set(0, static_cast<double>(divisor));
      for (const bool known : {true, false}) {
        const ir::Expr by = known ? ir::integer(divisor) : loaded;
        const auto p = program("divide", {d, out},
                               serial("i", 41, ir::block({row(0, x / by), row(1, x % by)})), {}, bits);
        const auto result = run(p, {divisors, Array(DType::i64, {2, 41})});
        for (std::int64_t i = 0; i < 41; ++i) {
          EXPECT_EQ(result[1].get_integer(i), ir::floor_divide(i - 20, divisor));
          EXPECT_EQ(result[1].get_integer(41 + i), ir::floor_remainder(i - 20, divisor));
        }
      }
    }
  }
}

TEST(Cpu, IntegersOfEveryWidth) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64,
                            DType::u64, DType::boolean}) {
    for (const int bits : {32, 64}) {
      const auto a = input("a", dtype, {20});
      const auto copy = output("copy", dtype, {20});
      const auto sum = both("sum", dtype, {20});
      const auto wide = output("wide", DType::i64, {20});
      const ir::Expr e = ir::load(a, {v("i")});
      const ir::Stmt body =
          ir::block({ir::store(copy, {v("i")}, e), ir::store(sum, {v("i")}, e, dtype != DType::boolean),
                     ir::store(wide, {v("i")}, e + 1)});
      for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::vectorized, ir::LoopKind::unrolled}) {
        const auto p = program("integers", {a, copy, sum, wide}, loop("i", 0, 20, kind, body), {}, bits);
        Array in = indices(dtype, {20}, dtype == DType::boolean ? 2 : 60);
        if (is_signed_integer(dtype)) in.set(3, -5);
        const auto out = run(p, {in, Array(dtype, {20}), in, Array(DType::i64, {20})});
        for (std::int64_t i = 0; i < 20; ++i) {
          const std::int64_t x = in.get_integer(i);
          EXPECT_EQ(out[1].get_integer(i), x) << name_of(dtype);
          EXPECT_EQ(out[2].get_integer(i), dtype == DType::boolean ? x : 2 * x) << name_of(dtype);
          EXPECT_EQ(out[3].get_integer(i), x + 1) << name_of(dtype);
        }
      }
    }
  }
}

TEST(Cpu, MovedIntegersKeepBitsBeyondTheIndex) {
  const auto a = input("a", DType::i64, {1});
  const auto b = output("b", DType::i64, {1});
  Array in(DType::i64, {1});
  in.as<std::int64_t>()[0] = 0x123456789ABCDEF;
  const auto out =
      run(program("move", {a, b}, ir::store(b, {0}, ir::load(a, {0}))), {in, Array(DType::i64, {1})});
  EXPECT_EQ(out[1].get_integer(0), 0x123456789ABCDEF);
}

TEST(Cpu, IndicesBeyond32Bits) {
  const auto out = output("out", DType::i64, {2});
  const ir::Expr big = v("N") * v("N");
  const auto p = program("big", {out}, ir::block({ir::store(out, {0}, big), ir::store(out, {1}, big / 1000)}),
                         {"N"}, 64);
  const auto result = run(p, {Array(DType::i64, {2})}, {3'000'000'000});
  EXPECT_EQ(result[0].get_integer(0), 9'000'000'000'000'000'000);
  EXPECT_EQ(result[0].get_integer(1), 9'000'000'000'000'000);
}

TEST(Cpu, SelectReadsOnlyTheBranchItTakes) {
  // a[i - 1] at i = 0 and a[i] at i = n lie outside; touching far outside would crash.
  const auto a = input("a", DType::f32, {16});
  const auto b = output("b", DType::f32, {16});
  const ir::Expr i = v("i");
  const ir::Expr e = ir::select(
      i < 8, number(7), ir::load(a, {(i - 8) + ir::select(i < 8, ir::integer(1 << 28), ir::integer(0))}));
  for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::vectorized, ir::LoopKind::unrolled}) {
    const Array in = numbers(DType::f32, {16});
    const auto out = run(program("choose", {a, b}, loop("i", 0, 16, kind, ir::store(b, {i}, e))),
                         {in, Array(DType::f32, {16})});
    for (std::int64_t k = 0; k < 16; ++k) EXPECT_EQ(out[1].get(k), k < 8 ? 7 : in.get(k - 8));
  }
}

TEST(Cpu, SelectOnAUniformConditionInsideVectors) {
  const auto a = input("a", DType::f32, {8});
  const auto b = output("b", DType::f32, {8});
  const ir::Expr e = ir::select(v("N") < 5, ir::load(a, {v("i")}), number(2));
  const auto p = program("uniform", {a, b}, vectorized("i", 8, ir::store(b, {v("i")}, e)), {"N"});
  const Array in = numbers(DType::f32, {8});
  EXPECT_EQ(run(p, {in, Array(DType::f32, {8})}, {4})[1].get(3), in.get(3));
  EXPECT_EQ(run(p, {in, Array(DType::f32, {8})}, {5})[1].get(3), 2);
}

TEST(Cpu, MinimumAndMaximumKeepNaNAndOrderZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto a = input("a", DType::f32, {4});
  const auto b = output("b", DType::f32, {2, 4});
  const ir::Expr x = ir::load(a, {v("i")});
  const ir::Stmt body = ir::block({ir::store(b, {0, v("i")}, ir::maximum(x, number(0))),
                                   ir::store(b, {1, v("i")}, ir::minimum(x, number(0)))});
  for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::vectorized}) {
    const auto out = run(program("relu", {a, b}, loop("i", 0, 4, kind, body)),
                         {Array::of(std::vector<float>{nan, -0.0F, -2, 3}), Array(DType::f32, {2, 4})});
    const auto r = out[1].as<float>();
    EXPECT_TRUE(std::isnan(r[0]) && std::isnan(r[4]));
    EXPECT_FALSE(std::signbit(r[1]));
    EXPECT_TRUE(std::signbit(r[5]));
    EXPECT_EQ(r[2], 0);
    EXPECT_EQ(r[3], 3);
    EXPECT_EQ(r[6], -2);
    EXPECT_EQ(r[7], 0);
  }
}

TEST(Cpu, ScalarsHaveTheirType) {
  auto p = program("scalars", {output("out", DType::f64, {2})}, {});
  p.program.scalars = {{"alpha", DType::f32}, {"beta", DType::f64}};
  const auto& out = p.program.buffers[0];
  p.program.body = ir::block({ir::store(out, {0}, ir::cast(DType::f64, ir::variable("alpha", DType::f32))),
                              ir::store(out, {1}, ir::variable("beta", DType::f64))});
  const auto result = run(p, {Array(DType::f64, {2})}, {}, {0.1, 0.1});
  EXPECT_EQ(result[0].get(0), 0.1F);
  EXPECT_EQ(result[0].get(1), 0.1);
}

TEST(Cpu, FmaRoundsOnceWhereTheProcessorHasIt) {
  const auto a = input("a", DType::f32, {64});
  const auto c = both("c", DType::f32, {64});
  const ir::Expr x = ir::load(a, {v("i")});
  const ir::Expr e = ir::call("fma_f32", DType::f32, {x, x, ir::load(c, {v("i")})});
  Array in = numbers(DType::f32, {64});
  for (float& f : in.as<float>()) f += 1e-4F;
  const auto out =
      run(program("fma", {a, c}, vectorized("i", 64, ir::store(c, {v("i")}, e))), {in, in}, {}, {}, true);
#if defined(__x86_64__)
  const bool fused = __builtin_cpu_supports("fma");
#else
  const bool fused = true;
#endif
  for (std::size_t i = 0; i < 64; ++i) {
    const float f = in.as<float>()[i];
    volatile float product = f * f;
    EXPECT_EQ(out[1].as<float>()[i], fused ? std::fma(f, f, f) : product + f);
  }
}

TEST(Cpu, ProductsAndSumsAreNotContracted) {
  const auto a = input("a", DType::f32, {64});
  const auto c = output("c", DType::f32, {64});
  const ir::Expr x = ir::load(a, {v("i")});
  Array in = numbers(DType::f32, {64});
  for (float& f : in.as<float>()) f += 1e-4F;
  for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::vectorized}) {
    const auto out = run(program("plain", {a, c}, loop("i", 0, 64, kind, ir::store(c, {v("i")}, x * x + x))),
                         {in, Array(DType::f32, {64})});
    for (std::size_t i = 0; i < 64; ++i) {
      const float f = in.as<float>()[i];
      volatile float product = f * f;
      EXPECT_EQ(out[1].as<float>()[i], product + f);
    }
  }
}

TEST(Cpu, ErrorFunctions) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto a = input("a", dtype, {101});
    const auto b = output("b", dtype, {101});
    const char* name = dtype == DType::f32 ? "erf_f32" : "erf_f64";
    Array in(dtype, {101});
    for (std::int64_t i = 0; i < 101; ++i) in.set(i, static_cast<double>(i - 50) / 10.0);
    for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::vectorized}) {
      const ir::Expr e = ir::call(name, dtype, {ir::load(a, {v("i")})});
      const auto out = run(program("erf", {a, b}, loop("i", 0, 101, kind, ir::store(b, {v("i")}, e))),
                           {in, Array(dtype, {101})}, {}, {}, true);
      for (std::int64_t i = 0; i < 101; ++i) {
        EXPECT_NEAR(out[1].get(i), std::erf(in.get(i)), dtype == DType::f32 ? 4e-7 : 1e-15);
      }
    }
  }
}

TEST(Cpu, SubnormalsAreKept) {
  const auto a = input("a", DType::f32, {16});
  const auto b = output("b", DType::f32, {16});
  Array in(DType::f32, {16});
  for (std::int64_t i = 0; i < 16; ++i) in.set(i, static_cast<double>(i) * 0x1p-149 * 2);
  const auto p = program("half", {a, b},
                         vectorized("i", 16, ir::store(b, {v("i")}, ir::load(a, {v("i")}) * number(0.5))));
  const auto out = run(p, {in, Array(DType::f32, {16})});
  for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(out[1].get(i), static_cast<double>(i) * 0x1p-149);
}

TEST(Cpu, SmallKernelsCompileInMilliseconds) {
  const auto p = spmm(64, 64, 512, 16, ir::LoopKind::parallel);
  llvm_backend::compile_for_cpu(p);
  const auto begin = std::chrono::steady_clock::now();
  llvm_backend::compile_for_cpu(p);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", std::to_string(spent.count()));
  EXPECT_LT(spent.count(), 1000) << "a loaded machine may be slow, but not that slow";
}

TEST(Cpu, TextsNameWhatTheyShould) {
  const auto code = llvm_backend::compile_for_cpu(spmm(8, 8, 16, 16, ir::LoopKind::serial));
  EXPECT_NE(code.assembly().find("weft_entry"), std::string::npos);
  EXPECT_NE(code.llvm_ir().find("@kernel.spmm"), std::string::npos);
  EXPECT_EQ(code.program().program.name, "spmm");
}

TEST(Cpu, MalformedProgramsAreInternalErrors) {
  const auto out = output("out", DType::f32, {1});
  EXPECT_THROW(llvm_backend::compile_for_cpu(program("p", {out}, ir::store(out, {v("nowhere")}, number(1)))),
               InternalError);
  EXPECT_THROW(llvm_backend::compile_for_cpu(program("p", {out}, ir::barrier())), InternalError);
  const auto stray = output("stray", DType::f32, {1});
  EXPECT_THROW(llvm_backend::compile_for_cpu(program("p", {out}, ir::store(stray, {0}, number(1)))),
               InternalError);
  EXPECT_THROW(
      llvm_backend::compile_for_cpu(program("p", {out}, ir::store(out, {0}, ir::constant(DType::f64, 1)))),
      InternalError);
}

TEST(Cpu, UnknownProcessorsAreRefused) {
  llvm_backend::CpuOptions options;
  options.processor = "z80";
  EXPECT_THROW(llvm_backend::compile_for_cpu(spmm(1, 1, 1, 4, ir::LoopKind::serial), options), UserError);
}

TEST(Cpu, LanesThatBranchTooOftenAreRefused) {
  const auto a = input("a", DType::f32, {64});
  const auto b = both("b", DType::f32, {64});
  const ir::Stmt add = ir::store(b, {v("i")}, ir::load(a, {v("i")}), true);
  const ir::Stmt body = unrolled(
      "j", 4096, vectorized("i", 64, ir::if_then(ir::load(a, {v("i")}) < ir::constant(DType::f32, 2), add)));
  try {
    llvm_backend::compile_for_cpu(program("masks", {a, b}, body));
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("j (4096 times), i (64 times)"), std::string::npos)
        << error.what();
  }
}

/// Half a minute of LLVM, most of it turning loops and choosing registers.
TEST(Cpu, ManyLoopsAreRefusedSoonerWhereInstructionsAreMany) {
  const auto a = input("a", DType::f32, {8, 8});
  const auto b = both("b", DType::f32, {1024});
  const ir::Expr here = ir::load(a, {v("i"), v("k")});
  const ir::Stmt add = ir::if_then(here < number(2), ir::store(b, {v("j")}, here, true));
  const ir::Stmt body = unrolled("j", 1024, serial("i", 8, serial("k", 8, add)));
  try {
    llvm_backend::compile_for_cpu(program("loops", {a, b}, body));
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("j (1024 times)"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("one times the other"), std::string::npos) << error.what();
  }
}

/// Half a minute, where each read of scattered lanes is compared with all that LLVM writes out in front of
/// it: 128 iterations in each of 54, of which few ever run.
TEST(Cpu, ScatteredReadsAreNotComparedWithAllThatIsWrittenOut) {
  const auto w = input("w", DType::f32, {9, v("M"), 6, 2, 1});
  const auto a = input("a", DType::f32, {1, 2, 6, 1});
  const auto bias = input("bias", DType::f32, {v("M")});
  const auto c = output("c", DType::f32, {v("M"), 9});
  const auto sum = local("sum", DType::f32, {8});
  const ir::Expr row = v("m") * 8 + v("i");
  const auto rows = [&](bool is_tail) {
    const auto lanes = [&](const ir::Stmt& stmt) {
      return vectorized("i", 8, is_tail ? ir::if_then(row < v("M"), stmt) : stmt);
    };
    const ir::Expr product =
        ir::call("fma_f32", DType::f32,
                 {ir::load(w, {v("n"), row, v("r"), v("k"), v("s")}),
                  ir::load(a, {v("s"), v("k"), v("r"), v("s")}), ir::load(sum, {v("i")})});
    const ir::Stmt add = ir::if_then(v("k") < 2, lanes(ir::store(sum, {v("i")}, product)));
    const ir::Stmt nest = serial("s", 8, ir::if_then(v("s") < 1, serial("r", 6, serial("k", 16, add))));
    const ir::Stmt write =
        lanes(ir::store(c, {row, v("n")}, ir::load(sum, {v("i")}) - ir::load(bias, {row})));
    const ir::Stmt zero = lanes(ir::store(sum, {v("i")}, number(0)));
    return serial("n", 9, ir::allocate(sum, ir::block({zero, nest, write})));
  };
  const ir::Stmt body = ir::if_then(v("m") * 8 - v("M") + 7 < 0, rows(false), rows(true));
  const std::clock_t begin = std::clock();
  llvm_backend::compile_for_cpu(
      program("reads", {w, a, bias, c}, serial("m", (v("M") + 7) / 8, body), {"M"}));
  EXPECT_LT(std::clock() - begin, 10 * CLOCKS_PER_SEC);
}

/// LLVM would write each of the loops out inside of the next.
TEST(Cpu, NestsOfConditionsAreCompiledInSeconds) {
  const auto a = input("a", DType::f32, {64});
  const auto b = both("b", DType::f32, {4});
  ir::Stmt nest =
      ir::if_then(v("i0") * 32 + v("i1") < 8,
                  ir::if_then(v("i2") * 8 + v("i1") < 7,
                              ir::store(b, {v("p")}, ir::load(a, {v("i3") * 8 + v("i2")}), true)));
  nest = serial("i0", 8, ir::if_then(v("i0") < 4, serial("i1", 32, nest)));
  nest = serial("i3", 8, serial("i2", 8, ir::if_then(v("i3") * 8 + v("i2") < 8, nest)));
  nest = serial("i4", 8, ir::if_then(v("i4") < 1, nest));
  nest = serial("i6", 2, ir::if_then(v("i6") < 1, serial("i5", v("i6") + 1, nest)));
  const std::clock_t begin = std::clock();
  llvm_backend::compile_for_cpu(program("nest", {a, b}, serial("p", 4, nest)));
  EXPECT_LT(std::clock() - begin, 10 * CLOCKS_PER_SEC);
}

TEST(Cpu, LanesThatWriteApartTooOftenAreRefused) {
  const auto b = both("b", DType::f32, {64, 2});
  const ir::Stmt body =
      unrolled("j", 4096, vectorized("i", 64, ir::store(b, {v("i"), ir::integer(1)}, number(1), true)));
  EXPECT_THROW(llvm_backend::compile_for_cpu(program("apart", {b}, body)), UserError);
}

/// Its loads and stores would be compared with each other.
TEST(Cpu, ALoopOfManySumsInMemoryIsCompiledInSeconds) {
  const auto a = input("a", DType::f32, {4096});
  const auto b = both("b", DType::f32, {64, 4096});
  const ir::Stmt body =
      serial("i", 64, unrolled("j", 4096, ir::store(b, {v("i"), v("j")}, ir::load(a, {v("j")}), true)));
  const auto begin = std::chrono::steady_clock::now();
  llvm_backend::compile_for_cpu(program("sums", {a, b}, body));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// LLVM's vectorizer would look at every path through the conditions of i, once it has unrolled j and k.
TEST(Cpu, LoopsOfManyConditionsAreCompiledInTime) {
  const auto a = input("a", DType::f32, {30});
  const auto w = input("w", DType::f32, {8, 8, 8});
  const auto b = output("b", DType::f32, {8, v("n")});
  const auto sum = local("sum", DType::f32, {});
  const auto copy = local("copy", DType::f32, {8, 8}, ir::Scope::shared);
  const ir::Expr h = v("h"), i = v("i"), j = v("j"), k = v("k"), at = i + k * 3 + 2;
  const ir::Stmt add = ir::store(
      sum, {},
      ir::call("fma_f32", DType::f32, {ir::load(a, {at}), ir::load(copy, {j, k}), ir::load(sum, {})}));
  const ir::Stmt of_pixel =
      ir::block({serial("j", 8, vectorized("k", 8, ir::store(copy, {j, k}, ir::load(w, {j, h, k})))),
                 ir::allocate(sum, ir::block({ir::store(sum, {}, number(0)),
                                              serial("j", 8, serial("k", 8, ir::if_then(at < 30, add))),
                                              ir::store(b, {h, i}, ir::load(sum, {}))}))});
  const ir::Stmt body = serial("h", 8, serial("i", v("n"), ir::allocate(copy, of_pixel)));
  const Array in = numbers(DType::f32, {30}), weights = indices(DType::f32, {8, 8, 8}, 5);
  const auto begin = std::chrono::steady_clock::now();
  const auto out =
      run(program("many", {a, w, b}, body, {"n"}), {in, weights, Array(DType::f32, {8, 9})}, {9}, {}, true);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  for (std::int64_t row = 0; row < 8; ++row) {
    for (std::int64_t pixel = 0; pixel < 9; ++pixel) {
      double expected = 0;
      for (std::int64_t term = 0; term < 64; ++term) {
        const std::int64_t from = pixel + term % 8 * 3 + 2;
        if (from < 30) expected += in.get(from) * weights.get(term / 8 * 64 + 8 * row + term % 8);
      }
      EXPECT_NEAR(out[2].get(9 * row + pixel), expected, 1e-4);
    }
  }
}

}  // namespace
}  // namespace weft::testing
