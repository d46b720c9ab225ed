// peel: which conditions fall away, also for sizes of the launch; that results stay the same on the CPU and
// in the simulator; and what it refuses, precondition by precondition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/schedule.h>

#include "support/examples.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

/// Whether conditions stand in each of the places of a loop.
std::vector<bool> asks(const Schedule& schedule, const char* loop) {
  std::vector<bool> result;
  for (const ir::For* each : ir::find_loops(schedule.program().body, loop))
    result.push_back(ir::any<ir::If>(each->body));
  return result;
}

TEST(Peel, OnlyTheLastIterationAsksForTheEnd) {
  Schedule s = test::spmm_schedule("cpu");
  s.split(n = 64).peel(n.outer, from_end = 1);
  EXPECT_EQ(asks(s, "n.outer"), (std::vector{false, true}));
  EXPECT_THAT(ir::print(s.program()), HasSubstr("for n.outer in 1 .. 2"));
}

TEST(Peel, OnlyTheLastIterationAsksForAnEndThatTheLaunchGives) {
  Schedule s = test::spmm_schedule("cpu", formats::csr(), Extent::any("N"));
  s.split(n = 64);
  EXPECT_EQ(asks(s, "n.outer"), (std::vector{true}));
  Schedule first = s;
  s.peel(n.outer, from_end = 1);
  EXPECT_EQ(asks(s, "n.outer"), (std::vector{false, true}));
  first.peel(n.outer, from_begin = 1);
  EXPECT_EQ(asks(first, "n.outer"), (std::vector{true, true}));
}

TEST(Peel, FirstIterationsStandInFront) {
  Schedule s = test::spmm_schedule("cpu");
  s.peel(n, from_begin = 2, from_end = 3);
  const auto loops = ir::find_loops(s.program().body, "n");
  ASSERT_EQ(loops.size(), 3U);
  const std::vector<std::pair<int, int>> expected{{0, 2}, {2, 95}, {97, 3}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ir::print(loops[i]->begin), std::to_string(expected[i].first));
    EXPECT_EQ(ir::print(loops[i]->extent), std::to_string(expected[i].second));
  }
}

TEST(Peel, LaterStepsMeanAllParts) {
  Schedule s = test::spmm_schedule("sm_80");
  s.split(n = 32).peel(m, from_end = 1).bind("n.inner", lane);
  for (const ir::For* loop : ir::find_loops(s.program().body, "n.inner"))
    EXPECT_EQ(loop->kind, ir::LoopKind::lane);
  EXPECT_EQ(ir::find_loops(s.program().body, "n.inner").size(), 2U);
}

TEST(Peel, AKnobMayStandForTheNumber) {
  Schedule s = test::spmm_schedule("cpu");
  s.peel(n, from_end = knob("last", {1, 4}));
  EXPECT_EQ(s.program().knobs.size(), 1U);
  Schedule replayed = test::spmm_schedule("cpu");
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
}

void expect_refused(Schedule schedule, const char* loop, std::int64_t from_end, int precondition,
                    const char* found) {
  SCOPED_TRACE(std::string(loop) + "\n" + schedule.cpp());
  const std::string before = ir::print(schedule.program());
  const auto reason = schedule.try_apply({"peel", {{{}, std::string(loop)}, {"from_end", from_end}}, {}});
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->precondition, precondition);
  EXPECT_THAT(reason->found, HasSubstr(found));
  EXPECT_FALSE(reason->accepted.empty());
  EXPECT_EQ(ir::print(schedule.program()), before);
}

TEST(Peel, Refuses) {
  const Schedule plain = test::spmm_schedule("sm_80");
  expect_refused(plain, "x", 1, 1, "x");
  Schedule bound = plain;
  bound.bind(m, block_x);
  expect_refused(bound, "m", 1, 2, "block_x");
  expect_refused(plain, "m", 12, 3, "12 iterations");
  expect_refused(plain, "m", 0, 3, "no iteration");
  Schedule grouped = plain;
  grouped.split_k(k, groups = 4);
  expect_refused(grouped, "n", 1, 10, "sums of groups");
}

}  // namespace
}  // namespace weft
