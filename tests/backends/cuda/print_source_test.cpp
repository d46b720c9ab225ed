#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>

#include <sstream>

#include "backends/cuda/printed_programs.h"
#include "support/golden.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string printed(const std::string& name) {
  const Target& target = target_named("sm_80");
  const test::PrintedProgram each = test::printed_program(name, target);
  return print_cuda_source(each.program, target, each.computes);
}

TEST(PrintSource, Golden) {
  for (const char* name : {"spmm_csr", "spmm_staged", "convolution", "ell_gelu", "csc_workspace",
                           "vectors_f16", "wide_indices"}) {
    test::expect_golden("cuda/" + std::string(name) + ".cu", printed(name));
  }
}

TEST(PrintSource, TheSameEveryTime) {
  EXPECT_EQ(printed("spmm_staged"), printed("spmm_staged"));
  EXPECT_EQ(printed("convolution"), printed("convolution"));
}

TEST(PrintSource, LinesAreShort) {
  const Target& target = target_named("sm_90a");
  for (const test::PrintedProgram& each : test::printed_programs(target)) {
    std::istringstream lines(print_cuda_source(each.program, target, each.computes));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 100U) << each.name << ": " << line;
  }
}

TEST(PrintSource, SharedMemoryBeyondTheStaticLimitIsDynamic) {
  EXPECT_THAT(printed("spmm_staged"), HasSubstr("__shared__ __align__(16) float B_shared[64][64];"));
  EXPECT_THAT(printed("spmm_staged"), Not(HasSubstr("extern __shared__")));
  const std::string large = printed("spmm_dynamic");
  EXPECT_THAT(large, HasSubstr("extern __shared__ __align__(16) unsigned char shared_memory[];"));
  EXPECT_THAT(large, HasSubstr("57344 bytes, given at launch"));
}

TEST(PrintSource, ParametersAreBuffersThenWorkspacesThenScalarsThenExtents) {
  const std::string scaled = printed("scaled_f32");
  const std::string workspace = printed("csc_workspace");
  EXPECT_THAT(scaled,
              HasSubstr("    float* __restrict__ C,\n    float alpha,\n    float beta,\n    int N) {"));
  EXPECT_THAT(workspace, HasSubstr("    float* __restrict__ C,\n    float* __restrict__ sum,\n    int N) {"));
}

/// A program of one statement.
ThreadProgram program_of(const ir::Expr& value, std::vector<ir::Variable> extents = {}, int index_bits = 32,
                         bool accumulate = false) {
  ThreadProgram result;
  const DType dtype = value.dtype();
  const auto out = ir::make_buffer("out", dtype, ir::Scope::global, ir::Access::read_write, {ir::integer(8)});
  result.program.name = "one";
  result.program.buffers = {out};
  result.program.extents = std::move(extents);
  result.program.index_bits = index_bits;
  result.program.body = ir::store(out, {ir::integer(3)}, value, accumulate);
  return result;
}

std::string statement_of(const ThreadProgram& program) {
  const std::string text = print_cuda_source(program, target_named("sm_80"));
  const std::size_t end = text.rfind(";\n}");
  const std::size_t begin = text.rfind('\n', end) + 1;
  return text.substr(begin, end + 1 - begin);
}

TEST(PrintSource, NumbersExactly) {
  const auto number = [](DType dtype, double value) {
    return statement_of(program_of(ir::constant(dtype, value)));
  };
  EXPECT_EQ(number(DType::f32, 0.1), "  out[3] = 0.1f;");
  EXPECT_EQ(number(DType::f32, -0.0), "  out[3] = -0.0f;");
  EXPECT_EQ(number(DType::f32, 3), "  out[3] = 3.0f;");
  EXPECT_EQ(number(DType::f32, 1e30), "  out[3] = 1e+30f;");
  EXPECT_EQ(number(DType::f32, 0x1.fffffep127), "  out[3] = 3.4028235e+38f;");
  EXPECT_EQ(number(DType::f32, 0x1p-149), "  out[3] = 1e-45f;");
  EXPECT_EQ(number(DType::f32, INFINITY), "  out[3] = __int_as_float(0x7f800000);");
  EXPECT_EQ(number(DType::f32, -INFINITY), "  out[3] = -__int_as_float(0x7f800000);");
  EXPECT_EQ(number(DType::f32, NAN), "  out[3] = __int_as_float(0x7fc00000);");
  EXPECT_EQ(number(DType::f64, 0.1), "  out[3] = 0.1;");
  EXPECT_EQ(number(DType::f64, 1e16), "  out[3] = 1e+16;");
  EXPECT_EQ(number(DType::f64, -INFINITY), "  out[3] = __longlong_as_double(0xfff0000000000000LL);");
  // 1 + 2^-11 + 2^-40 is above the middle of two halves, but its f32 is the middle.
  EXPECT_EQ(number(DType::f16, 1 + 0x1p-11 + 0x1p-40), "  out[3] = __float2half_rn(1.0009766f);");
  EXPECT_EQ(number(DType::bf16, 1 + 0x1p-8), "  out[3] = __float2bfloat16_rn(1.0f);");
}

TEST(PrintSource, FewParentheses) {
  const ir::Expr x = ir::variable("x");
  const ir::Expr y = ir::variable("y");
  const auto text = [](const ir::Expr& value, int bits = 32) {
    return statement_of(program_of(value, {{"x", DType::i64}, {"y", DType::i64}}, bits));
  };
  EXPECT_EQ(text((x + y) * 4 + (x + 1)), "  out[3] = (x + y) * 4 + x + 1;");
  EXPECT_EQ(text(x - (y - 1)), "  out[3] = x - (y - 1);");
  EXPECT_EQ(text(x - (y + y)), "  out[3] = x - (y + y);");
  EXPECT_EQ(text(x * (y * x)), "  out[3] = x * (y * x);");
  EXPECT_EQ(text(x / 4 % 3), "  out[3] = x / 4 % 3;");
  EXPECT_EQ(text(x / (y * 4)), "  out[3] = x / (y * 4);");
  EXPECT_EQ(text((x - y) / 4), "  out[3] = floor_divide(x - y, 4);");
  EXPECT_EQ(text((x - y) % 4 + 1), "  out[3] = floor_remainder(x - y, 4) + 1;");
  EXPECT_EQ(text(ir::minimum(x, ir::maximum(y, 7))), "  out[3] = min(x, max(y, 7));");
  EXPECT_EQ(text(ir::minimum(x, 7), 64), "  out[3] = min(x, 7LL);");
  EXPECT_EQ(text(x + (std::int64_t{1} << 40), 64), "  out[3] = x + 1099511627776LL;");
  EXPECT_EQ(text(ir::select(x < y && y < x, x, y) + 1), "  out[3] = (x < y && y < x ? x : y) + 1;");
  EXPECT_THROW(text(x + (std::int64_t{1} << 40)), InternalError);
}

TEST(PrintSource, FloatingSumsKeepTheirOrder) {
  const ir::Expr x = ir::cast(DType::f32, ir::variable("x"));
  const auto text = [&](const ir::Expr& value, bool accumulate = false) {
    return statement_of(program_of(value, {{"x", DType::i64}}, 32, accumulate));
  };
  EXPECT_EQ(text(x + (x + x)), "  out[3] = float(x) + (float(x) + float(x));");
  EXPECT_EQ(text(x / x), "  out[3] = __fdiv_rn(float(x), float(x));");
  EXPECT_EQ(text(x * x, true), "  out[3] += float(x) * float(x);");
  EXPECT_EQ(text(ir::maximum(x, ir::constant(DType::f32, 0))), "  out[3] = maximum(float(x), 0.0f);");
  EXPECT_EQ(text(ir::cast(DType::f16, x), true),
            "  out[3] = __float2half_rn(__half2float(out[3]) + __half2float(__float2half_rn(float(x))));");
  EXPECT_THAT(print_cuda_source(program_of(x * x + x, {{"x", DType::i64}}), target_named("sm_80")),
              HasSubstr("-fmad=false"));
  EXPECT_THAT(print_cuda_source(program_of(x * x, {{"x", DType::i64}}), target_named("sm_80")),
              Not(HasSubstr("-fmad=false")));
}

TEST(PrintSource, NamesThatMeanSomethingElseChange) {
  ThreadProgram program = program_of(ir::variable("min") + ir::variable("threadIdx.x"),
                                     {{"min", DType::i64}, {"threadIdx.x", DType::i64}, {"out", DType::i64}});
  const std::string text = print_cuda_source(program, target_named("sm_80"));
  EXPECT_THAT(
      text,
      HasSubstr("    long long* __restrict__ out,\n    int min_,\n    int threadIdx_x,\n    int out_2) {"));
  EXPECT_THAT(text, HasSubstr("out[3] = min_ + threadIdx_x;"));
  program.program.name = "erf";
  EXPECT_THROW(print_cuda_source(program, target_named("sm_80")), UserError);
}

/// out[i] = tile[i] / 3 * (tile[i] / 3), after a store to the tile.
TEST(PrintSource, WhatTheKernelWritesIsReadWhereItStands) {
  ThreadProgram program = program_of(ir::integer(0));
  const auto tile = ir::make_buffer("tile", DType::i32, ir::Scope::registers, ir::Access::read_write, {});
  const ir::Expr quotient = ir::load(tile, {}) / 3;
  const auto out = program.program.buffers[0];
  const ir::Stmt body =
      ir::block({ir::store(tile, {}, ir::load(out, {1})), ir::store(out, {3}, quotient * quotient)});
  program.program.body = ir::allocate(tile, body);
  const std::string text = print_cuda_source(program, target_named("sm_80"));
  EXPECT_THAT(text, HasSubstr("  int tile = out[1];\n"
                              "  out[3] = floor_divide(tile, 3) * floor_divide(tile, 3);\n}"));
}

TEST(PrintSource, BuffersOfOneNameInsideEachOther) {
  ThreadProgram program = program_of(ir::integer(0));
  const auto make = [] {
    return ir::make_buffer("tile", DType::i32, ir::Scope::registers, ir::Access::read_write, {});
  };
  const auto outer = make();
  const auto inner = make();
  const ir::Stmt copy = ir::block({ir::store(inner, {}, ir::load(outer, {})),
                                   ir::store(program.program.buffers[0], {3}, ir::load(inner, {}))});
  const ir::Stmt body = ir::block({ir::store(outer, {}, ir::integer(7)), ir::allocate(inner, copy)});
  program.program.body = ir::allocate(outer, body);
  EXPECT_THAT(print_cuda_source(program, target_named("sm_80")),
              HasSubstr("  int tile = 7;\n  int tile_2 = tile;\n  out[3] = tile_2;\n}"));
}

TEST(PrintSource, RefusesWhatIsNotForTheTarget) {
  const ThreadProgram program = program_of(ir::constant(DType::f32, 1));
  EXPECT_THROW(print_cuda_source(program, target_named("cpu")), UserError);
  const ir::Expr call = ir::call("erf_f64", DType::f64, {ir::constant(DType::f64, 1)});
  EXPECT_THROW(print_cuda_source(program_of(call), target_named("sm_80")), UserError);
}

class CompilePrinted : public ::testing::TestWithParam<const char*> {};

TEST_P(CompilePrinted, WithoutWarnings) {
  const cuda::CompilerStatus status = cuda::compiler_status();
  if (!status.found()) GTEST_SKIP() << "[SKIP] " << status.sentence;
  const Target& target = target_named(GetParam());
  cuda::CompileOptions options;
  options.architecture = target.name;
  for (const test::PrintedProgram& each : test::printed_programs(target)) {
    const std::string source = print_cuda_source(each.program, target, each.computes);
    const cuda::Compiled compiled = cuda::compile(source, options);
    EXPECT_THAT(compiled.log, Not(HasSubstr("warning"))) << each.name << "\n" << source;
    const cuda::FunctionResources* kernel = compiled.report.find(each.program.program.name);
    ASSERT_NE(kernel, nullptr) << each.name << "\n" << compiled.log;
    // Registers have no addresses: a stack means that a loop was not unrolled. One thread that does all may
    // run out of registers.
    if (each.program.launch.threads > 1) {
      EXPECT_EQ(kernel->stack_bytes, 0U) << each.name;
      EXPECT_EQ(kernel->spill_store_bytes, 0U) << each.name;
    }
    const bool dynamic = each.program.launch.shared_bytes > 48 * 1024;
    EXPECT_EQ(kernel->shared_bytes,
              dynamic ? 0U : static_cast<std::size_t>(each.program.launch.shared_bytes));
  }
}

TEST_P(CompilePrinted, NeighboursMoveTogether) {
  const cuda::CompilerStatus status = cuda::compiler_status();
  if (!status.found()) GTEST_SKIP() << "[SKIP] " << status.sentence;
  const Target& target = target_named(GetParam());
  cuda::CompileOptions options;
  options.architecture = target.name;
  options.output = cuda::Output::ptx;
  for (const char* name : {"vectors_f32", "vectors_f32_8", "vectors_f16"}) {
    const test::PrintedProgram each = test::printed_program(name, target);
    const std::string ptx = cuda::compile(print_cuda_source(each.program, target), options).image;
    EXPECT_THAT(ptx, HasSubstr("ld.global.nc.v4.")) << name;
    EXPECT_THAT(ptx, HasSubstr("st.global.v4.")) << name;
  }
}

/// Each row of the table that CUDA C++ knows, in a kernel of its own.
TEST_P(CompilePrinted, EveryInstruction) {
  const cuda::CompilerStatus status = cuda::compiler_status();
  if (!status.found()) GTEST_SKIP() << "[SKIP] " << status.sentence;
  const Target& target = target_named(GetParam());
  cuda::CompileOptions options;
  options.architecture = target.name;
  int compiled = 0;
  for (const Instruction& row : instructions()) {
    // An arrival is no value: kernels whose groups are blocks have it. Rows with effects are none either:
    // tensor_kernels_test has them.
    if (row.lowest_sm < 0 || row.lowest_sm > target.sm || row.name == last_arrival || row.effect) continue;
    std::vector<ir::Expr> operands;
    for (const DType dtype : row.operands) operands.push_back(ir::cast(dtype, ir::variable("x")));
    const ir::Expr value = ir::call(std::string(row.name), row.result, operands);
    for (const int bits : {32, 64}) {
      const std::string source = print_cuda_source(program_of(value, {{"x", DType::i64}}, bits), target);
      EXPECT_THAT(cuda::compile(source, options).log, Not(HasSubstr("warning"))) << source;
      ++compiled;
    }
  }
  EXPECT_GE(compiled, 14);
}

INSTANTIATE_TEST_SUITE_P(Each, CompilePrinted, ::testing::Values("sm_75", "sm_80", "sm_90", "sm_90a"),
                         [](const auto& each) { return std::string(each.param); });

TEST(PrintSource, CopiesCountTowardsWhatIsTooLong) {
  ThreadProgram program = program_of(ir::integer(0));
  ir::Copy run;
  run.source = program.program.buffers.front();
  run.extents = {ir::integer(4)};
  program.program.body = ir::for_loop(
      {"i", ir::integer(0), ir::integer(5000), ir::LoopKind::unrolled, -1, ir::copy(std::move(run))});
  EXPECT_EQ(source_length(program).statements, 5000);
  EXPECT_THROW(print_cuda_source(program, target_named("sm_80")), UserError);
}

TEST(PrintSource, LoopsThatAreUnrolledCountInFullTowardsWhatIsTooLong) {
  const auto loop = [](ir::LoopKind kind) {
    ThreadProgram program = program_of(ir::integer(0));
    program.program.body =
        ir::for_loop({"i", ir::integer(0), ir::integer(5000), kind, -1, program.program.body});
    return program;
  };
  EXPECT_EQ(source_length(loop(ir::LoopKind::serial)).statements, 1);
  EXPECT_EQ(source_length(loop(ir::LoopKind::unrolled)).statements, 5000);
  EXPECT_EQ(source_length(loop(ir::LoopKind::vectorized)).statements, 1250);
  EXPECT_EQ(source_length(loop(ir::LoopKind::serial)).branches, 1);
  EXPECT_EQ(source_length(loop(ir::LoopKind::unrolled)).branches, 0);
  EXPECT_THROW(print_cuda_source(loop(ir::LoopKind::unrolled), target_named("sm_80")), UserError);
}

/// 64 x 64 products, which NVRTC would write out for a minute.
TEST(PrintSource, LoopsInsideOfUnrolledOnesStayLoopsWhereTheyAreLong) {
  const auto nest = [](std::int64_t copies, std::int64_t extent) {
    ThreadProgram program = program_of(ir::integer(0));
    const ir::Stmt inner = ir::for_loop(
        {"k", ir::integer(0), ir::integer(extent), ir::LoopKind::serial, -1, program.program.body});
    program.program.body =
        ir::for_loop({"i", ir::integer(0), ir::integer(copies), ir::LoopKind::unrolled, -1, inner});
    return print_cuda_source(program, target_named("sm_80"));
  };
  EXPECT_THAT(nest(64, 64), HasSubstr("#pragma unroll 1\n"));
  EXPECT_THAT(nest(64, 16), Not(HasSubstr("#pragma unroll 1\n")));
  EXPECT_THAT(nest(1, 5000), Not(HasSubstr("#pragma unroll 1\n")));
}

}  // namespace
}  // namespace weft
