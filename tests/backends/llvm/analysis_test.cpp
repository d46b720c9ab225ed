// How the lanes of a vectorized loop reach memory, and when they may run together.
#include <gtest/gtest.h>
#include <weft/backends/llvm/analysis.h>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

using llvm_backend::Pattern;

llvm_backend::Access access(const ir::Expr& offset, const ir::Expr& first = 0,
                            const ir::Substitution& known = {}) {
  return llvm_backend::classify(offset, {"i", first, known, {"w"}});
}

TEST(Analysis, Patterns) {
  EXPECT_EQ(access(v("i")).pattern, Pattern::contiguous);
  EXPECT_EQ(access(v("a") * v("N") + v("i") + 3).pattern, Pattern::contiguous);
  EXPECT_EQ(access(v("a")).pattern, Pattern::uniform);
  EXPECT_EQ(access(v("i") * 2).pattern, Pattern::every_second);
  EXPECT_EQ(access(v("i") * 3).pattern, Pattern::scattered);
  EXPECT_EQ(access(v("a") - v("i")).pattern, Pattern::scattered);
  EXPECT_EQ(access(v("i") / 2).pattern, Pattern::scattered);
  EXPECT_EQ(access(v("i") + v("w")).pattern, Pattern::scattered);
  EXPECT_EQ(access(v("i") * 2 - v("i")).pattern, Pattern::contiguous);
}

TEST(Analysis, Alignments) {
  EXPECT_EQ(access(v("i")).alignment, 4096);
  EXPECT_EQ(access(v("a") * 8 + v("i")).alignment, 8);
  EXPECT_EQ(access(v("a") * 8 + v("i") + 4).alignment, 4);
  EXPECT_EQ(access(v("a") * 24 + v("i")).alignment, 8);
  EXPECT_EQ(access(v("a") * v("N") + v("i")).alignment, 1);
  EXPECT_EQ(access(v("i"), v("o") * 16).alignment, 16);
  EXPECT_EQ(access(v("i"), v("b"), {{"b", v("t") * 4}}).alignment, 4);
}

ir::For vector_of(const ir::Stmt& body, std::int64_t lanes = 8) {
  return {"i", 0, lanes, ir::LoopKind::vectorized, -1, body};
}

TEST(Analysis, WhatMayRunTogether) {
  const auto a = both("a", DType::f32, {64, 8});
  const auto b = both("b", DType::f32, {v("N"), v("N")});
  const ir::Expr i = v("i");
  const ir::Expr one = ir::constant(DType::f32, 1);
  const auto may = [](const ir::Stmt& s, std::int64_t lanes = 8) {
    return llvm_backend::can_run_together(vector_of(s, lanes), {});
  };
  EXPECT_TRUE(may(ir::store(a, {0, i}, one, true)));
  EXPECT_TRUE(may(ir::store(a, {v("r"), i}, ir::load(a, {v("s"), i}))));
  EXPECT_FALSE(may(ir::store(a, {v("r"), i}, ir::load(a, {v("s"), i})), 9))
      << "rows of 8 overlap with 9 lanes";
  EXPECT_TRUE(may(ir::store(b, {v("r"), i}, one, true)));
  EXPECT_FALSE(may(ir::store(b, {v("r"), i}, ir::load(b, {v("s"), i})))) << "N may be small";
  EXPECT_FALSE(may(ir::store(a, {0, i}, ir::load(a, {0, i - 1}))));
  EXPECT_TRUE(may(ir::store(a, {1, i}, ir::load(a, {0, i}))));
  EXPECT_FALSE(may(ir::store(a, {0, 0}, one, true)));
  EXPECT_TRUE(may(ir::store(a, {0, 0}, one)));
  EXPECT_FALSE(may(ir::store(a, {0, 0}, ir::load(b, {0, i}))));
  EXPECT_TRUE(may(ir::store(a, {i, i % 3}, one)));
  EXPECT_FALSE(may(ir::store(a, {i, i % 3}, one, true)));
  EXPECT_FALSE(may(ir::barrier()));
  EXPECT_FALSE(may(serial("k", i, ir::store(a, {0, i}, one))));
}

TEST(Analysis, SizesSaturate) {
  ir::Stmt s = ir::store(both("a", DType::f32, {1}), {0}, ir::constant(DType::f32, 1));
  for (int depth = 0; depth < 10; ++depth) s = unrolled("u" + std::to_string(depth), 1000, s);
  EXPECT_EQ(llvm_backend::emitted_size(s), std::int64_t{1} << 40);
}

}  // namespace
}  // namespace weft::testing
