// fuse: what it makes of loops, and what it refuses, precondition by precondition; the index arithmetic that
// undoes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/algorithm.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/program/schedule.h>

#include "support/examples.h"
#include "support/golden.h"

namespace weft {
namespace {

WEFT_INDEX(f);
WEFT_INDEX(p);
WEFT_INDEX(q);

std::string text_of(const ir::Expr& expr) {
  return ir::print(ir::linear(expr).expr());
}

TEST(Fuse, LinesAndColumnsBecomePixels) {
  Schedule s = test::convolution_schedule("sm_80");
  s.fuse(p, q);
  test::expect_golden("steps/fuse.txt", ir::print(s.history()[0]) + "\n" + s.steps().front().cpp() + "\n" +
                                            ir::print(s.program()));
}

TEST(Fuse, RoundTripsThroughJson) {
  Schedule s = test::convolution_schedule("sm_80"), replayed = test::convolution_schedule("sm_80");
  s.fuse(p, q).split(LoopFactor{LoopName("p_q"), 32}).bind(LoopName("p_q.inner"), lane);
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
}

/// Groups without a share have no iterations of the fused loop, which divides by their number.
TEST(Fuse, DividesByNoShareThatAGroupLacks) {
  const Tensor<f32, 3> a("A", {6, 5, 5});
  const Tensor<f32, 2> b("B", {5, 5});
  const Tensor<f32, 1> c("C", {6});
  Schedule s = schedule(algorithm("sums", c(f) = sum(p, q, a(f, p, q) * b(p, q))), target_named("sm_80"));
  s.split_k(q, groups = 4).fuse(p, q);
  EXPECT_THAT(ir::print(s.program()), testing::HasSubstr("p_q / max(min(5 - min(q.group * 2, 5), 2), 1)"));
}

/// Constants whose sum or product needs more than 64 bits stay apart, and nothing is divided by 0.
TEST(Fuse, ConstantsFoldAsFarAsTheyFit) {
  const ir::Expr x = ir::variable("x");
  const ir::Expr large = ir::integer(INT64_MAX);
  EXPECT_EQ(ir::print(x * ir::integer(6) * ir::integer(7)), "x * 42");
  EXPECT_EQ(ir::print(x * large * large), "x * 9223372036854775807 * 9223372036854775807");
  EXPECT_EQ(ir::print(x + large + large), "x + 9223372036854775807 + 9223372036854775807");
  EXPECT_EQ(ir::print(x - large - large), "x - 9223372036854775807 - 9223372036854775807");
  EXPECT_EQ(ir::print(x * ir::integer(4) / ir::integer(0)), "x * 4 / 0");
}

void expect_refused(Schedule schedule, const char* outer, const char* inner, int precondition,
                    const char* found) {
  SCOPED_TRACE(std::string(outer) + ", " + inner + "\n" + schedule.cpp());
  const std::string before = ir::print(schedule.program());
  const auto reason = schedule.try_apply({"fuse", {{{}, std::string(outer)}, {{}, std::string(inner)}}, {}});
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->precondition, precondition);
  EXPECT_THAT(reason->found, testing::HasSubstr(found));
  EXPECT_FALSE(reason->accepted.empty());
  EXPECT_EQ(ir::print(schedule.program()), before);
}

TEST(Fuse, Refuses) {
  const Schedule plain = test::convolution_schedule("sm_80");
  expect_refused(plain, "x", "q", 1, "x");
  expect_refused(plain, "p", "x", 1, "x");
  Schedule bound = plain;
  bound.bind(q, block_x);
  expect_refused(bound, "p", "q", 2, "q is block_x already");
  expect_refused(plain, "f", "q", 3, "q is not all that f has inside");
  expect_refused(plain, "q", "p", 3, "p is not all that q has inside");
  // First values and results have a loop over the columns of their own.
  Schedule inside = test::spmm_schedule("cpu");
  inside.split(LoopFactor{LoopName("n"), 4}).reorder("k", "n.inner");
  expect_refused(inside, "k", "n.inner", 3, "n.inner also stands where k does not");
  expect_refused(test::spmm_schedule("cpu", formats::csc()), "k", "m.stored", 4, "depends on k");
}

TEST(Fuse, RefusesANameThatThereIs) {
  WEFT_INDEX(p_q);
  WEFT_INDEX(k);
  const Tensor<f32, 2> A("A", {4, 5});
  const Tensor<f32, 3> B("B", {5, 3, 2});
  const Tensor<f32, 3> C("C", {4, 3, 2});
  const Schedule s =
      schedule(algorithm("named", C(p_q, p, q) = sum(k, A(p_q, k) * B(k, p, q))), target_named("cpu"));
  expect_refused(s, "p", "q", 5, "called p_q already");
}

TEST(Fuse, QuotientsAndRemaindersAreTheWhole) {
  const ir::Expr x = ir::variable("x"), y = ir::variable("y");
  EXPECT_EQ(text_of(x / 7 * 7 + x % 7), "x");
  EXPECT_EQ(text_of(x / 16 / 14 * 3136 + x / 16 % 14 * 224 + x % 16 * 14), text_of(x * 14));
  EXPECT_EQ(text_of((x + y) % 8 + (x + y) / 8 * 8 - x), "y");
  EXPECT_EQ(text_of(x % 7 * 2 + x / 7 * 14 + 3), text_of(x * 2 + 3));
  // Of other numbers, or in other proportions, they stay.
  EXPECT_THAT(text_of(x / 7 * 7 + y % 7), testing::HasSubstr("%"));
  EXPECT_THAT(text_of(x / 7 * 8 + x % 7), testing::HasSubstr("%"));
  EXPECT_THAT(text_of(x / 8 * 7 + x % 7), testing::HasSubstr("%"));
}

TEST(Fuse, QuotientsThatAreOneNumberAreThatNumber) {
  const ir::Expr x = ir::variable("x");
  const ir::Ranges ranges{{"x", {0, 31}}, {"y", {-3, -1}}};
  const auto simple = [&](const ir::Expr& expr) { return ir::print(ir::simplify(expr, ranges)); };
  EXPECT_EQ(simple((x + 32) / 32), "1");
  EXPECT_EQ(simple((x + 32) % 32), "x");
  EXPECT_EQ(simple(x / 32), "0");
  EXPECT_EQ(simple(ir::variable("y") / 4), "-1");
  EXPECT_EQ(simple(ir::variable("y") % 4), "y + 4");
  EXPECT_THAT(simple((x + 31) / 32), testing::HasSubstr("/"));
  EXPECT_THAT(simple((x + 31) % 32), testing::HasSubstr("%"));
}

}  // namespace
}  // namespace weft
