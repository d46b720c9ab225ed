// Programs that would take long to compile are refused before they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/dsl/errors.h>

#include <ctime>
#include <functional>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

/// Copies under a condition of each element, `lanes` of them in a vector, `times` one after the other.
ThreadProgram copies_under_conditions(std::int64_t times, std::int64_t lanes) {
  const auto a = input("a", DType::f32, {times, lanes});
  const auto asked = input("asked", DType::i32, {times, lanes});
  const auto b = output("b", DType::f32, {times, lanes});
  const std::vector<ir::Expr> place{v("i"), v("j")};
  const ir::Stmt copied =
      ir::if_then(ir::integer(0) < ir::load(asked, place), ir::store(b, place, ir::load(a, place)));
  const ir::Stmt all = unrolled("i", times, vectorized("j", lanes, copied));
  return program("copied", {a, asked, b}, serial("again", 2, all));
}

TEST(ProgramLength, ConditionsThatAreWrittenOutAreCounted) {
  const auto check = [](std::int64_t times) {
    return refusal([&] { llvm_backend::emit_ptx(copies_under_conditions(times, 1), target_named("sm_80")); });
  };
  EXPECT_EQ(check(500), "");
  EXPECT_THAT(check(11'000),
              HasSubstr("11000 conditions written out, with these loops written out: i (11000 times)"));
}

TEST(ProgramLength, MasksOfWideVectorsAreCounted) {
  const auto compile = [](std::int64_t times) {
    return refusal([&] { llvm_backend::compile_for_cpu(copies_under_conditions(times, 64)); });
  };
  EXPECT_EQ(compile(4), "");
  EXPECT_THAT(compile(60), HasSubstr("elements by lanes that branch on their own"));
}

TEST(ProgramLength, ElementsThatNoInstructionGathersAreCounted) {
  const auto compile = [](DType dtype, std::int64_t times) {
    const auto a = input("a", dtype, {times, 512});
    const auto b = output("b", dtype, {times, 64});
    const ir::Stmt apart = ir::store(b, {v("i"), v("j")}, ir::load(a, {v("i"), v("j") * 7 % 512}));
    return refusal([&] {
      llvm_backend::compile_for_cpu(
          program("apart", {a, b}, unrolled("i", times, vectorized("j", 64, apart))));
    });
  };
  EXPECT_EQ(compile(DType::f16, 20), "");
  EXPECT_EQ(compile(DType::f32, 200), "");
  EXPECT_THAT(compile(DType::f16, 200), HasSubstr("12800 elements of 8 or 16 bits"));
}

// LLVM's pass that joins loads and stores of a GPU would compare each with all others.
TEST(ProgramLength, LongBlocksAreCompiledInSeconds) {
  constexpr std::int64_t elements = 22'000;
  const auto a = input("a", DType::f16, {elements, 3});
  const auto b = output("b", DType::f16, {elements, 3});
  const std::vector<ir::Expr> place{v("i"), v("again")};
  const ir::Stmt body = serial("again", 3, unrolled("i", elements, ir::store(b, place, ir::load(a, place))));
  const std::clock_t begin = std::clock();
  llvm_backend::emit_ptx(program("long", {a, b}, body), target_named("sm_80"));
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace weft::testing
