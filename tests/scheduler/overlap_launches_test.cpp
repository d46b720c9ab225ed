// overlap_launches: what it asks for, and where the lowered program waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>

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

/// A product of 2:4 weights in f16.
Schedule pairs(const char* target, const ShflBwKnobs& knobs = {}) {
  const WeightMatrix matrix =
      pair_weights({.rows = 128, .columns = 256, .pattern = {0, 4}, .dtype = DType::f16});
  return v_n_m(spmm_algorithm(128, 256, 64, DType::f16),
               std::make_shared<const SparseTensor>(pack(matrix, Format{"n_m", {}})), target_named(target),
               knobs);
}

TEST(OverlapLaunches, ARingAsksForWeightsBeforeTheWait) {
  const Schedule s = overlapped(pairs("sm_90"));
  const ThreadProgram lowered = lower(s.program(), s.target());
  const auto found = places(lowered, {"allow_next_launch()", "copy A.values[", "copy A.metadata[",
                                      "wait_for_launch()", "gather B[", " C["});
  EXPECT_TRUE(std::ranges::is_sorted(found)) << ir::print(lowered.program);
  EXPECT_NE(found[4], std::string::npos);
}

TEST(OverlapLaunches, ProducersAskForWeightsBeforeTheirWait) {
  for (const std::int64_t blocks : {0, 2}) {
    const Schedule s = overlapped(pairs("sm_90a", {.blocks = blocks}));
    ASSERT_TRUE(s.program().roles.has_value());
    const std::string printed = ir::print(lower(s.program(), s.target()).program);
    const std::size_t producers = printed.find("\n  else\n");
    const std::size_t asked = printed.find("A.values[", producers),
                      waited = printed.find("wait_for_launch()", producers);
    EXPECT_LT(asked, waited) << printed;
    EXPECT_LT(waited, printed.find("gather B[")) << printed;
    // The other role waits before it touches results.
    EXPECT_LT(printed.find("wait_for_launch()"), producers) << printed;
  }
}

TEST(OverlapLaunches, StreamsAreAskedForBeforeTheOperand) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 192, .columns = 256, .sparsity = 0.5, .dtype = DType::f16});
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, parse_format("lane_streams")));
  for (const std::int64_t turns : {1, 3}) {
    const Schedule s = overlapped(lane_streams(spmm_algorithm(192, 256, 8, DType::f16), weights,
                                               target_named("sm_90"), {.warps = 1, .turns = turns}));
    const ThreadProgram lowered = lower(s.program(), s.target());
    const auto found =
        places(lowered, {"mbarrier_init(", " A.bits[", " A.values[", "wait_for_launch()", " B[", " C["});
    EXPECT_TRUE(std::ranges::is_sorted(found)) << ir::print(lowered.program);
  }
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
