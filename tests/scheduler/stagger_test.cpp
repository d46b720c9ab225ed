// stagger: the order in which iterations go through another loop, that results stay the same, and what it
// refuses, precondition by precondition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/program/schedule.h>

#include "support/examples.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

const LoopName vectors("n.inner.outer"), column("n.inner.inner");

/// Two vectors of columns, whose sums are made inside the rows.
Schedule two_vectors(const char* target = "sm_80") {
  Schedule s = test::spmm_schedule(target);
  s.split(n = 8).split(LoopFactor{LoopName("n.inner"), 4});
  s.reorder(LoopName("n.outer"), m, k, vectors, column);
  return s;
}

TEST(Stagger, OddRowsTakeTheHalvesInTurn) {
  Schedule s = two_vectors();
  s.unroll(vectors).stagger(vectors, m);
  const std::string text = ir::print(s.program());
  EXPECT_THAT(text, HasSubstr("(n.inner.outer + m) % 2"));
  // Registers keep their numbers.
  EXPECT_THAT(text, HasSubstr("sum[n.inner.outer, n.inner.inner] = 0"));
  EXPECT_THAT(text, Not(HasSubstr("sum[(n.inner")));
}

TEST(Stagger, RoundTripsThroughJson) {
  Schedule s = two_vectors(), replayed = test::spmm_schedule("sm_80");
  s.stagger(vectors, m).unroll(vectors);
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
}

void expect_refused(Schedule schedule, const char* loop, const char* by, int precondition,
                    const char* found) {
  SCOPED_TRACE(std::string(loop) + ", " + by + "\n" + schedule.cpp());
  const std::string before = ir::print(schedule.program());
  const auto reason = schedule.try_apply({"stagger", {{{}, std::string(loop)}, {{}, std::string(by)}}, {}});
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->precondition, precondition);
  EXPECT_THAT(reason->found, HasSubstr(found));
  EXPECT_FALSE(reason->accepted.empty());
  EXPECT_EQ(ir::print(schedule.program()), before);
}

TEST(Stagger, Refuses) {
  const Schedule plain = two_vectors();
  expect_refused(plain, "x", "m", 1, "x");
  expect_refused(plain, "n.inner.outer", "x", 1, "x");
  Schedule three = test::spmm_schedule("sm_80");
  three.split(n = 12).split(LoopFactor{LoopName("n.inner"), 4}).reorder(m, k, vectors);
  expect_refused(three, "n.inner.outer", "m", 2, "3");
  Schedule vectorized = plain;
  vectorized.vectorize(column);
  expect_refused(vectorized, "n.inner.inner", "m", 2, "vectorized");
  expect_refused(plain, "n.inner.outer", "k", 3, "outside of k");
  expect_refused(plain, "m", "n.outer", 2, "12");
  Schedule rows = test::spmm_schedule("cpu", formats::csr());
  rows.split(m = 4).reorder(n, LoopName("m.outer"), LoopName("m.inner"));
  expect_refused(rows, "k", "m.inner", 2, "k is serial");
}

}  // namespace
}  // namespace weft
