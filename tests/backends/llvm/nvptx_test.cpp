// PTX of hand-built programs: what the text holds, and whether the assembler takes it.
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>

#include <iostream>

#include "backends/llvm/programs.h"
#include "support/run_on_zeros.h"

namespace weft::testing {
namespace {

using llvm_backend::emit_ptx;

Target target_of(const std::string& name) {
  Target target;
  target.name = name;
  target.kind = TargetKind::cuda;
  target.sm = std::stoi(name.substr(3));
  target.architecture_specific = name == "sm_90a";
  target.ptx_version = name == "sm_75" ? "6.5" : name == "sm_80" ? "7.1" : name == "sm_90" ? "8.0" : "8.2";
  return target;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The PTX for every architecture, assembled where there is an assembler. Gives that of sm_80.
std::string check_everywhere(const ThreadProgram& p) {
  std::string result;
  for (const char* name : {"sm_75", "sm_80", "sm_90", "sm_90a"}) {
    const Target target = target_of(name);
    const std::string ptx = emit_ptx(p, target);
    EXPECT_EQ(ptx, emit_ptx(p, target)) << "the text changes from call to call";
    EXPECT_TRUE(holds(ptx, ".version " + target.ptx_version)) << name;
    EXPECT_TRUE(holds(ptx, std::string(".target ") + name));
    EXPECT_TRUE(holds(ptx, ".visible .entry " + p.program.name + "(")) << name;
    EXPECT_FALSE(holds(ptx, ".extern .func")) << "a call of what is not there: " << ptx;
    EXPECT_FALSE(holds(ptx, ".ftz"));
    if (target.sm == 80) result = ptx;
    EXPECT_EQ(test::findings_on_zeros(p, ptx, target), "") << name << "\n" << ptx;
    if (!cuda::can_assemble()) continue;
    cuda::AssembleOptions options;
    options.architecture = name;
    EXPECT_NO_THROW(cuda::assemble(ptx, options)) << ptx;
  }
  if (!cuda::can_assemble()) std::cout << "[SKIP] no ptxas here: texts are looked at, not assembled\n";
  return result;
}

ThreadProgram per_thread(const std::string& name, std::vector<ir::BufferRef> buffers, const ir::Stmt& body,
                         int index_bits = 32) {
  ThreadProgram p = program(name, std::move(buffers), ir::let("t", ir::call("thread", DType::i64, {}), body),
                            {}, index_bits);
  p.launch.threads = 64;
  return p;
}

TEST(Nvptx, SparseTimesDense) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t width : {1, 4, 8}) {
      for (const int bits : {32, 64}) {
        const std::string ptx = check_everywhere(spmm_for_gpu(64, 64, 512, width, bits, dtype));
        EXPECT_TRUE(holds(ptx, ".maxntid 128"));
        EXPECT_TRUE(holds(ptx, "ld.global.nc"));
        EXPECT_TRUE(holds(ptx, "fma.rn.f32"));
      }
    }
  }
}

TEST(Nvptx, RegistersAreNotSavedForBlocksThatCannotBe) {
  const auto limit_of = [](std::int64_t threads, std::int64_t shared_bytes) {
    ThreadProgram p = spmm_for_gpu(64, 64, 512, 1, 32, DType::f32);
    p.launch.threads = threads;
    p.launch.shared_bytes = shared_bytes;
    return holds(emit_ptx(p, target_named("sm_90a")), ".minnctapersm 1");
  };
  EXPECT_TRUE(limit_of(1024, 0));
  EXPECT_TRUE(limit_of(128, 150'000));
  EXPECT_FALSE(limit_of(128, 0));
  EXPECT_FALSE(limit_of(128, 16'384));
}

TEST(Nvptx, ResidentBlocksShareTheRegisters) {
  ThreadProgram p = spmm_for_gpu(64, 64, 512, 1, 32, DType::f32);
  p.program.resident_blocks = 3;
  EXPECT_TRUE(holds(emit_ptx(p, target_named("sm_90a")), ".minnctapersm 3"));
  p.program.resident_blocks = 0;
  EXPECT_FALSE(holds(emit_ptx(p, target_named("sm_90a")), ".minnctapersm"));
}

TEST(Nvptx, AlignedVectorsAreOneInstruction) {
  const auto a = input("a", DType::f32, {64, 4});
  const auto b = output("b", DType::f32, {64, 4});
  const auto p = per_thread(
      "move", {a, b}, vectorized("i", 4, ir::store(b, {v("t"), v("i")}, ir::load(a, {v("t"), v("i")}))));
  const std::string ptx = check_everywhere(p);
  EXPECT_TRUE(holds(ptx, "ld.global.nc.v4")) << ptx;
  EXPECT_TRUE(holds(ptx, "st.global.v4")) << ptx;
}

TEST(Nvptx, EightHalvesAreOneInstruction) {
  const auto a = input("a", DType::f16, {64, 8});
  const auto b = output("b", DType::f16, {64, 8});
  const auto p = per_thread(
      "move", {a, b}, vectorized("i", 8, ir::store(b, {v("t"), v("i")}, ir::load(a, {v("t"), v("i")}))));
  const std::string ptx = check_everywhere(p);
  EXPECT_TRUE(holds(ptx, "ld.global.nc.v4")) << ptx;
  EXPECT_TRUE(holds(ptx, "st.global.v4")) << ptx;
}

TEST(Nvptx, UnprovenAlignmentIsNotPromised) {
  const auto a = input("a", DType::f32, {64, 5});
  const auto b = output("b", DType::f32, {64, 5});
  const auto p = per_thread(
      "move", {a, b}, vectorized("i", 4, ir::store(b, {v("t"), v("i")}, ir::load(a, {v("t"), v("i")}))));
  const std::string ptx = check_everywhere(p);
  EXPECT_FALSE(holds(ptx, ".v4")) << ptx;
  EXPECT_FALSE(holds(ptx, ".v2")) << ptx;
}

ThreadProgram transpose_through_shared(std::int64_t columns) {
  const auto a = input("a", DType::f32, {columns, 64});
  const auto b = output("b", DType::f32, {64, columns});
  const auto tile = local("tile", DType::f32, {columns, 64}, ir::Scope::shared);
  const auto other = local("tile.other", DType::f16, {3}, ir::Scope::shared);
  const ir::Stmt body = ir::allocate(
      tile,
      ir::allocate(
          other,
          ir::block(
              {serial("r", columns, ir::store(tile, {v("r"), v("t")}, ir::load(a, {v("r"), v("t")}))),
               ir::if_then(v("t") < ir::Expr(3), ir::store(other, {v("t")}, ir::constant(DType::f16, 1))),
               ir::barrier(),
               serial("s", columns,
                      ir::store(b, {v("t"), v("s")},
                                ir::load(tile, {v("s"), ir::integer(63) - v("t")}) +
                                    ir::cast(DType::f32, ir::load(other, {v("s") % 3}))))})));
  ThreadProgram p = per_thread("transpose", {a, b}, body);
  p.launch.shared_bytes = columns * 64 * 4 + 16;
  return p;
}

TEST(Nvptx, SharedArrays) {
  const ThreadProgram p = transpose_through_shared(32);
  const std::string ptx = check_everywhere(p);
  EXPECT_TRUE(holds(ptx, "bar.sync")) << ptx;
  EXPECT_TRUE(holds(ptx, ".shared .align 16 .b8")) << ptx;
  EXPECT_FALSE(holds(ptx, "cvta.shared")) << ptx;
}

TEST(Nvptx, LargeSharedArraysAreDynamic) {
  const ThreadProgram p = transpose_through_shared(240);
  const std::string ptx = check_everywhere(p);
  EXPECT_TRUE(holds(ptx, ".extern .shared .align 16 .b8 weft_shared[]")) << ptx;
}

TEST(Nvptx, RegisterArraysBecomeRegistersWhenUnrolled) {
  const auto a = input("a", DType::f32, {16, 64});
  const auto b = output("b", DType::f32, {4, 64});
  const auto sum = local("sum", DType::f32, {4});
  const ir::Expr x = ir::load(a, {v("k") * 4 + v("r"), v("t")});
  const ir::Stmt body = ir::allocate(
      sum, ir::block(
               {unrolled("r0", 4, ir::store(sum, {v("r0")}, ir::constant(DType::f32, 0))),
                serial("k", 4,
                       unrolled("r", 4,
                                ir::store(sum, {v("r")},
                                          ir::call("fma_f32", DType::f32, {x, x, ir::load(sum, {v("r")})})))),
                unrolled("r1", 4, ir::store(b, {v("r1"), v("t")}, ir::load(sum, {v("r1")})))}));
  EXPECT_FALSE(holds(check_everywhere(per_thread("registers", {a, b}, body)), ".local"))
      << "sums are in memory";
}

TEST(Nvptx, LocalArraysWithComputedIndices) {
  const auto where = input("where", DType::i32, {64});
  const auto b = output("b", DType::f32, {64});
  const auto t = local("t", DType::f32, {8});
  const ir::Stmt body = ir::allocate(
      t, ir::block({serial("k", 8, ir::store(t, {v("k")}, ir::cast(DType::f32, v("k") * v("t")))),
                    ir::store(b, {v("t")}, ir::load(t, {ir::load(where, {v("t")})}))}));
  check_everywhere(per_thread("computed", {where, b}, body));
}

TEST(Nvptx, MasksGathersAndDifferentLanes) {
  const auto a = input("a", DType::f32, {4096});
  const auto where = input("where", DType::u16, {64, 8});
  const auto b = both("b", DType::f32, {64, 8});
  const ir::Expr i = v("i");
  const ir::Stmt body = vectorized(
      "i", 8,
      ir::let("at", ir::load(where, {v("t"), i}),
              ir::if_then(v("t") * 8 + i < 500, ir::store(b, {v("t"), i}, ir::load(a, {v("at")}), true),
                          ir::store(b, {v("t"), ir::integer(7) - i},
                                    ir::select(i < 3, ir::load(a, {v("t")}), ir::constant(DType::f32, 1))))));
  check_everywhere(per_thread("masks", {a, where, b}, body));
}

TEST(Nvptx, ConversionsAndMathOfEveryType) {
  for (const DType from :
       {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::u16, DType::i32, DType::i64}) {
    for (const DType to : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const auto a = input("a", from, {64});
      const auto b = both("b", to, {64});
      const ir::Expr x = ir::cast(to, ir::load(a, {v("t")}));
      check_everywhere(per_thread(
          "convert", {a, b}, ir::block({ir::store(b, {v("t")}, ir::maximum(x, ir::constant(to, 0)), true)})));
    }
  }
}

TEST(Nvptx, ConversionsOfWholeVectors) {
  for (const DType from : {DType::f16, DType::bf16, DType::f32, DType::u8, DType::i32}) {
    for (const DType to : {DType::f32, DType::f64}) {
      for (const std::int64_t width : {4, 9, 17}) {
        const auto a = input("a", from, {width});
        const auto b = output("b", to, {width});
        const auto body = vectorized("i", width, ir::store(b, {v("i")}, ir::cast(to, ir::load(a, {v("i")}))));
        check_everywhere(per_thread("widen", {a, b}, ir::if_then(v("t") < 1, body)));
      }
    }
  }
}

TEST(Nvptx, MathIsRoundedToNearest) {
  const auto a = input("a", DType::f32, {64});
  const auto b = output("b", DType::f32, {64});
  const ir::Expr x = ir::load(a, {v("t")});
  const ir::Expr e = ir::call("erf_f32", DType::f32, {x * x + x}) / (x - ir::constant(DType::f32, 3));
  const std::string ptx = check_everywhere(per_thread("math", {a, b}, ir::store(b, {v("t")}, e)));
  EXPECT_TRUE(holds(ptx, "div.rn.f32")) << ptx;
  EXPECT_TRUE(holds(ptx, "mul.rn.f32")) << "ptxas may fuse a mul without .rn";
  EXPECT_FALSE(holds(ptx, "approx")) << ptx;
}

TEST(Nvptx, MaximumKeepsNaN) {
  const auto a = input("a", DType::f32, {64});
  const auto b = output("b", DType::f32, {64});
  const ir::Expr e = ir::maximum(ir::load(a, {v("t")}), ir::constant(DType::f32, 0));
  EXPECT_TRUE(holds(check_everywhere(per_thread("relu", {a, b}, ir::store(b, {v("t")}, e))), "max.NaN.f32"));
}

TEST(Nvptx, RefusesWhatTheTargetLacks) {
  const auto a = input("a", DType::f64, {64});
  const auto b = output("b", DType::f64, {64});
  const auto p = per_thread("erf", {a, b},
                            ir::store(b, {v("t")}, ir::call("erf_f64", DType::f64, {ir::load(a, {v("t")})})));
  EXPECT_THROW(emit_ptx(p, target_of("sm_80")), UserError);
  Target cpu;
  cpu.name = "cpu";
  EXPECT_THROW(emit_ptx(spmm_for_gpu(1, 1, 1, 1), cpu), UserError);
}

TEST(Nvptx, LongStraightLinesAreFine) {
  const auto a = input("a", DType::f32, {3000, 64});
  const auto b = output("b", DType::f32, {64});
  const auto sum = local("sum", DType::f32, {});
  const ir::Expr product =
      ir::call("fma_f32", DType::f32,
               {ir::load(a, {v("k"), v("t")}), ir::constant(DType::f32, 1.25), ir::load(sum, {})});
  const ir::Stmt body = ir::allocate(sum, ir::block({ir::store(sum, {}, ir::constant(DType::f32, 0)),
                                                     unrolled("k", 3000, ir::store(sum, {}, product)),
                                                     ir::store(b, {v("t")}, ir::load(sum, {}))}));
  const std::string ptx = emit_ptx(per_thread("long_line", {a, b}, body), target_of("sm_80"));
  std::size_t count = 0;
  for (std::size_t at = ptx.find("fma.rn"); at != std::string::npos; at = ptx.find("fma.rn", at + 1)) ++count;
  EXPECT_EQ(count, 3000U);
}

TEST(Nvptx, WhatTakesMinutesIsRefusedWithTheLoopsThatMakeItLong) {
  const auto b = output("b", DType::f32, {64});
  const ir::Expr here = v("i") + v("j") + v("k") < v("t");
  const ir::Stmt body = serial(
      "i", 4,
      unrolled("j", 1024,
               unrolled("k", 512, ir::if_then(here, ir::store(b, {v("t")}, ir::constant(DType::f32, 1))))));
  try {
    emit_ptx(per_thread("many", {b}, body), target_of("sm_80"));
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_TRUE(holds(error.what(), "j (1024 times), k (512 times)")) << error.what();
    EXPECT_TRUE(holds(error.what(), "at most")) << error.what();
  }
}

TEST(Nvptx, ManyBranchesAreRefusedSoonerWhereInstructionsAreMany) {
  const auto b = output("b", DType::f32, {64});
  const ir::Expr here = v("i") * v("k") % 7 < v("t");
  const ir::Stmt body = serial(
      "i", 4, unrolled("k", 8000, ir::if_then(here, ir::store(b, {v("t")}, ir::constant(DType::f32, 1)))));
  try {
    emit_ptx(per_thread("many", {b}, body), target_of("sm_80"));
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_TRUE(holds(error.what(), "k (8000 times)")) << error.what();
    EXPECT_TRUE(holds(error.what(), "one times the other")) << error.what();
  }
}

/// In a long straight line the emitter itself knows what is in a local array: until a condition, a loop or a
/// computed place comes between.
TEST(Nvptx, LongStraightLinesKeepTrackOfRegisters) {
  const auto b = output("b", DType::f32, {4, 64});
  const auto r = local("r", DType::f32, {4});
  const ir::Expr somewhere = v("t") % 4;
  const auto add = [&](const ir::Expr& place, const ir::Expr& more) {
    return ir::store(r, {place}, ir::load(r, {place}) + more);
  };
  const auto number = [](double value) { return ir::constant(DType::f32, value); };
  const auto line = [&](const std::string& name) {
    return unrolled(name, 1500, ir::store(r, {0}, ir::load(r, {1}) - ir::load(r, {0})));
  };
  const ir::Stmt body = ir::allocate(
      r,
      ir::block({unrolled("i", 4, ir::store(r, {v("i")}, ir::cast(DType::f32, v("i") + v("t")))), line("k"),
                 add(1, number(2)), ir::if_then(v("t") < 13, add(1, number(3))), add(1, number(5)),
                 add(somewhere, ir::load(r, {1})), add(1, number(7)), line("k1"),
                 serial("j", 3, ir::block({add(2, ir::load(r, {1})), add(1, number(1)), add(2, number(1))})),
                 add(2, number(11)), ir::store(r, {3}, ir::load(r, {somewhere})), add(3, number(13)),
                 unrolled("o", 4, ir::store(b, {v("o"), v("t")}, ir::load(r, {v("o")})))}));
  const std::string ptx = emit_ptx(per_thread("kept", {b}, body), target_of("sm_80"));
  const Device device = Device::simulator("sm_80");
  DeviceMemory out(device, 4 * 64 * sizeof(float));
  std::uint64_t address = out.address();
  void* const arguments[] = {&address};
  LaunchShape shape;
  shape.block = {64, 1, 1};
  Module::load(device, ptx).function("kept").launch(shape, arguments, nullptr);
  const auto got = out.to_vector<float>();
  for (std::size_t t = 0; t < 64; ++t) {
    float x[4];
    for (std::size_t i = 0; i < 4; ++i) x[i] = static_cast<float>(i + t);
    for (int k = 0; k < 1500; ++k) x[0] = x[1] - x[0];
    x[1] += t < 13 ? 10 : 7;
    x[t % 4] += x[1];
    x[1] += 7;
    for (int k = 0; k < 1500; ++k) x[0] = x[1] - x[0];
    for (int j = 0; j < 3; ++j) {
      x[2] += x[1];
      x[1] += 1;
      x[2] += 1;
    }
    x[2] += 11;
    x[3] = x[t % 4];
    x[3] += 13;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got[i * 64 + t], x[i]) << "thread " << t << " place " << i;
  }
}

}  // namespace
}  // namespace weft::testing
