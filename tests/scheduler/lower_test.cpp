// What lowering refuses, and what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/passes/lower.h>

#include "support/examples.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(batch);

std::string message_of(const Schedule& schedule) {
  try {
    require_feasible(schedule.program(), schedule.target());
    lower(schedule.program(), schedule.target());
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Lower, OpenKnobsAreNamed) {
  auto s = test::spmm_schedule("cpu");
  s.split(n = knob("columns", {16, 32}));
  EXPECT_THAT(message_of(s), testing::HasSubstr("columns"));
}

TEST(Lower, TooManyThreadsAreInfeasibleWithTheNumbers) {
  auto s = test::spmm_schedule("sm_80");
  s.split(n = 32).split(m = 32).bind(m.inner, warp).bind(n.inner, lane);
  EXPECT_NO_THROW(lower(s.program(), s.target()));
  auto wide = test::spmm_schedule("sm_80", formats::dense(), 40000);
  wide.split(n = 1024).reorder(k, n.inner);
  EXPECT_THROW(require_feasible(wide.program(), wide.target()), InfeasibleError);
}

TEST(Lower, TooMuchSharedMemoryIsInfeasibleWithTheNumbers) {
  auto s = test::spmm_schedule("sm_86", formats::csr(), 4096);
  s.split(n = 2048).bind(n.outer, block_x).stage("B", shared, at = n.outer);
  const std::string text = message_of(s);
  EXPECT_THAT(text, testing::HasSubstr("163840"));
  EXPECT_THAT(text, testing::HasSubstr("101376"));
  auto larger = test::spmm_schedule("sm_90", formats::csr(), 4096);
  larger.split(n = 2048).bind(n.outer, block_x).stage("B", shared, at = n.outer);
  EXPECT_EQ(lower(larger.program(), larger.target()).launch.shared_bytes, 163840);
}

TEST(Lower, TailsAreAskedForOnceOnTheCpu) {
  auto s = test::spmm_schedule("cpu");
  s.split(n = 32).reorder(k, n.inner).vectorize(n.inner);
  const std::string text = ir::print(lower(s.program(), s.target()).program);
  EXPECT_THAT(text, testing::HasSubstr("else"));
}

TEST(Lower, TheLastVectorIsAsLongAsItsColumns) {
  auto s = test::spmm_schedule("cpu");  // 100 columns: three panels of 32 and one of 4
  s.split(n = 32).reorder(k, n.inner).vectorize(n.inner);
  const std::string text = ir::print(lower(s.program(), s.target()).program);
  EXPECT_THAT(text, testing::HasSubstr("n.inner in 0 .. 4  # vectorized"));
  EXPECT_THAT(text, testing::HasSubstr("n.inner in 0 .. 32  # vectorized"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("< 100")));
}

TEST(Lower, VectorsThatNoRegisterHoldsKeepTheirCondition) {
  auto s = test::spmm_schedule("cpu");  // 100 columns: a panel of 61 and one of 39
  s.split(n = 61).reorder(k, n.inner).vectorize(n.inner);
  const std::string text = ir::print(lower(s.program(), s.target()).program);
  EXPECT_THAT(text, testing::HasSubstr("n.inner in 0 .. 40  # vectorized"));
  EXPECT_THAT(text, testing::HasSubstr("n.inner + 61 < 100"));
}

TEST(Lower, CopiesOnTheCpuAreVectors) {
  auto s = test::spmm_schedule("cpu");
  s.split(n = 32).reorder(n.outer, m).reorder(k, n.inner).vectorize(n.inner);
  s.stage("B", shared, at = n.outer);
  const std::string text = ir::print(lower(s.program(), s.target()).program);
  EXPECT_THAT(text, testing::HasSubstr("B.shared.element0_1 in 0 .. 32  # vectorized"));
}

std::string lowered_with_tile(const char* target, std::int64_t columns) {
  auto s = test::spmm_schedule(target, formats::csr(), columns);
  s.split(n = 64).bind(n.outer, block_x).stage("B", shared, at = n.outer).bind(n.inner, thread);
  return ir::print(lower(s.program(), s.target()).program);
}

/// A thread loads 20 elements, one at a time where lines are no multiple of four.
TEST(Lower, TilesOfManyShortLoadsAreCopiesThatGoOnByThemselves) {
  const std::string text = lowered_with_tile("sm_80", 99);
  EXPECT_THAT(text, testing::HasSubstr("# asynchronous"));
  EXPECT_THAT(text, testing::HasSubstr("wait for groups of copies but 0"));
  EXPECT_THAT(lowered_with_tile("sm_80", 100), testing::Not(testing::HasSubstr("# asynchronous")));
  EXPECT_THAT(lowered_with_tile("sm_75", 99), testing::Not(testing::HasSubstr("# asynchronous")));
}

/// Code of the weights is a choice between rows, inside which no loop moves.
TEST(Lower, NoLoopMovesPastAChoice) {
  const Tensor<f32, 2, sparse> a("A", {12, 20});
  const Tensor<f32, 3> b("B", {20, 100, 2}), c("C", {2, 12, 100});
  const auto weights = test::spmm_schedule("cpu", formats::ell()).shared_weights();
  Schedule s = schedule(algorithm("batch", c(batch, m, n) = sum(k, a(m, k) * b(k, n, batch))), weights,
                        target_named("cpu"));
  s.split(n = 8).reorder(k, n.inner).unroll(k).bake_values(n.outer);
  const auto reason =
      s.try_apply({"reorder", {{{}, std::string("n.inner")}, {{}, std::string("batch")}}, {}});
  ASSERT_TRUE(reason.has_value());
  EXPECT_THAT(reason->found, testing::HasSubstr("batch would move past the choice whether m <"));
}

/// What a tile that is made inside says of the tail cannot be asked outside of it.
TEST(Lower, TailsThatTilesInsideDecideStayInside) {
  auto s = test::spmm_schedule("cpu", formats::coo());
  s.split(LoopFactor{LoopName("m.stored"), 4});
  s.stage("A", shared, at = LoopName("m.stored.outer"))
      .stage("A.begin", shared, at = LoopName("m.stored.outer"));
  EXPECT_NO_THROW(lower(s.program(), s.target()));
}

/// Each element of a vector would need a register of its own, and a loop inside its own bounds.
TEST(Lower, AVectorWhoseRegistersSayHowFarLoopsRunIsALoop) {
  auto s = test::spmm_schedule("cpu", parse_format("hb_ell:every=8"));
  s.reorder(n, "m.block", "m.row").stage("A.bcols", registers, at = LoopName("m.block")).vectorize(n);
  const std::string text = ir::print(lower(s.program(), s.target()).program);
  EXPECT_THAT(text, testing::HasSubstr(".. A.bcols.registers["));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("vectorized")));
}

TEST(Lower, WideStridesNeedWideIndices) {
  const Extent many = Extent::any("N", 2'147'483'647);
  const Tensor<f32, 3> a("A", {3, many, 18});
  const Tensor<f32, 1> b("B", {many});
  const Tensor<f32, 2> c("C", {3, 18});
  const auto index_bits = [](const Schedule& s) { return lower(s.program(), s.target()).program.index_bits; };
  EXPECT_EQ(index_bits(schedule(algorithm("far", c(m, n) = sum(k, a(m, k, n) * b(k))), target_named("cpu"))),
            64);
  EXPECT_EQ(index_bits(test::spmm_schedule("cpu")), 32);
}

/// Code adds up the parts of a place that conditions keep from being used.
TEST(Lower, FarPlacesNeedWideIndices) {
  const Tensor<f32, 2> a("A", {4, 64});
  const Tensor<f32, 2> x("X", {3, 64});
  const Tensor<f32, 1> c("C", {4});
  const auto index_bits = [&](std::int64_t factor) {
    const Schedule s =
        schedule(algorithm("far", c(m) = sum(k, a(m, k) * x(factor * k, k))), target_named("cpu"));
    return lower(s.program(), s.target()).program.index_bits;
  };
  EXPECT_EQ(index_bits(2), 32);
  EXPECT_EQ(index_bits(std::int64_t{1} << 25U), 64);
}

TEST(Lower, SumsOfAGpuAskNothing) {
  auto columns = test::spmm_schedule("sm_80");  // 100 columns
  columns.split(n = 3).reorder(n.outer, k, n.inner).unroll(n.inner).bind(n.outer, block_x).bind(m, block_y);
  const std::string beyond = ir::print(lower(columns.program(), columns.target()).program);
  // Read clamped, and asked for only where the result is stored.
  EXPECT_THAT(beyond, testing::HasSubstr("min(n.outer * 3 + n.inner, 99)"));
  const std::size_t sums = beyond.find("for k");
  EXPECT_LT(beyond.find("fma_f32"), beyond.find("if ", sums)) << beyond;

  auto padded = test::spmm_schedule("sm_80", formats::ell());
  padded.bind(n, block_x).bind(m, block_y);
  const std::string chosen = ir::print(lower(padded.program(), padded.target()).program);
  EXPECT_THAT(chosen, testing::HasSubstr("let sum.counts = 0 <= A.column"));
  EXPECT_THAT(chosen, testing::HasSubstr("max("));
}

/// Where the column is the mark of padding, nobody writes the register of its value, and nobody may read it.
TEST(Lower, RegistersThatNobodyWroteAreNotRead) {
  auto s = test::spmm_schedule("sm_80", formats::ell());
  s.stage("A", registers, at = m);
  const std::string text = ir::print(lower(s.program(), s.target()).program);
  EXPECT_THAT(text, testing::HasSubstr("A.values.registers[k]"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("sum.counts")));
}

TEST(Lower, PaddingOfAStagedOperandReadsARowOfZeros) {
  auto s = test::spmm_schedule("sm_80", formats::padded_csr());
  s.split(n = 32).reorder(n.outer, m).bind(n.outer, block_x).stage("B", shared, at = n.outer);
  const std::string text = ir::print(s.program());
  EXPECT_THAT(text, testing::HasSubstr("copy B[-1, n.outer * 32 ..+32] -> B.shared[0, 0 ..+32]"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("if 0 <= A.column")));
  // Where the column is known already, its condition stands around the copy.
  auto known = test::spmm_schedule("cpu", formats::ell());
  known.stage("B", shared, at = k);
  EXPECT_THAT(ir::print(known.program()), testing::HasSubstr("if 0 <= A.column"));
}

}  // namespace
}  // namespace weft
