// overlap_launches: what it asks for, and where the lowered program waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/overlapped.h>

#include "support/examples.h"

namespace weft {
namespace {

using testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Schedule bound(const char* target = "sm_90") {
  Schedule s = test::spmm_schedule(target);
  s.split(n = 32).bind(m, block_x).bind(n.outer, block_y).bind(n.inner, thread);
  return s;
}

std::string refused(Schedule schedule, const std::string& tensor) {
  const auto reason = schedule.try_apply({"overlap_launches", {{{}, tensor}}, {}});
  return reason ? std::to_string(reason->precondition) + " " + reason->found : "";
}

TEST(OverlapLaunches, Refusals) {
  EXPECT_EQ(refused(test::spmm_schedule("cpu"), "A"), "1 cpu has no launches that wait for one another");
  EXPECT_EQ(refused(bound("sm_80"), "A"), "1 sm_80 has no launches that wait for one another");
  EXPECT_EQ(refused(bound(), "W"), "2 no operand is called W");
  EXPECT_EQ(refused(bound(), "C"), "2 C is the output, which each launch writes");
  EXPECT_EQ(refused(std::move(bound().overlap_launches("A")), "A"), "3 launches overlap already");
  EXPECT_EQ(refused(std::move(bound().align("B")), "B"), "4 B is aligned by a launch in front of the kernel");
  EXPECT_EQ(refused(std::move(bound().align("B")), "A"), "");
  Schedule later = bound();
  later.overlap_launches("B");
  const auto broken = later.try_apply({"align", {{{}, "B"}}, {}});
  ASSERT_TRUE(broken.has_value());
  EXPECT_THAT(broken->found + broken->accepted, HasSubstr("overlap_launches"));
}

TEST(OverlapLaunches, AreAskedForBesideAnySchedule) {
  EXPECT_EQ(overlapped(bound()).cpp(), bound().cpp() + "\n.overlap_launches(\"A\")");
  EXPECT_EQ(overlapped(overlapped(bound())).cpp(), overlapped(bound()).cpp());
  EXPECT_EQ(overlapped(bound("sm_80")).cpp(), bound("sm_80").cpp());
}

/// The places of the texts in the lowered program; one that it lacks is at the end.
std::vector<std::size_t> places(const ThreadProgram& program, const std::vector<std::string>& texts) {
  const std::string printed = ir::print(program.program);
  const std::size_t body = printed.find('\n');
  std::vector<std::size_t> result;
  for (const std::string& text : texts) result.push_back(printed.find(text, body));
  return result;
}

TEST(OverlapLaunches, WeightsAreReadBeforeTheWaitAndNothingElse) {
  Schedule s = bound();
  s.stage("A.values", shared, at = n.outer);
  s.overlap_launches("A");
  const ThreadProgram lowered = lower(s.program(), s.target());
  const auto found =
      places(lowered, {"allow_next_launch()", "= A.values[", "wait_for_launch()", " B[", "C["});
  EXPECT_TRUE(std::ranges::is_sorted(found)) << ir::print(lowered.program);
  EXPECT_NE(found.back(), std::string::npos);
}

TEST(OverlapLaunches, WorkspacesAreWaitedFor) {
  Schedule s = bound();
  s.split_k(k, groups = 4, reduce = second_pass).bind("k.group", block_z).overlap_launches("A");
  const ThreadProgram lowered = lower(s.program(), s.target());
  const auto found = places(lowered, {"wait_for_launch()", "sum.parts[", "last_arrival("});
  EXPECT_TRUE(std::ranges::is_sorted(found)) << ir::print(lowered.program);
}

TEST(OverlapLaunches, LaunchesThatCopyOperandsWaitToo) {
  Schedule s = bound();
  s.align("B").align("C").overlap_launches("A");
  const ThreadProgram lowered = lower(s.program(), s.target());
  for (const auto* list : {&lowered.ahead, &lowered.behind}) {
    ASSERT_EQ(list->size(), 1U);
    const auto found = places(list->front(), {"allow_next_launch()", "wait_for_launch()", " = "});
    EXPECT_EQ(found[0], places(list->front(), {"allow_next_launch()"})[0]);
    EXPECT_NE(found[1], std::string::npos) << ir::print(list->front().program);
  }
}

}  // namespace
}  // namespace weft
