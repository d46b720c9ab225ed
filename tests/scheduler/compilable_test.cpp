// What is said of schedules whose steps all apply and which come to too much, or leave a number open.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/limits/compilable.h>
#include <weft/search/spaces/problems.h>

namespace weft {
namespace {

using testing::AllOf, testing::HasSubstr, testing::StartsWith;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Schedule product(const char* format, const char* target) {
  const WeightMatrix matrix = synthetic_layer({.rows = 96, .columns = 1024, .sparsity = 0.9, .seed = 3});
  return schedule(spmm_algorithm(96, 1024, 2048, DType::f32), pack(matrix, parse_format(format)),
                  target_named(target));
}

UserError::Report refusal(const Schedule& schedule) {
  try {
    require_compilable(schedule, schedule.target());
  } catch (const InfeasibleError& error) {
    return error.report();
  }
  ADD_FAILURE() << "nothing was refused\n" << schedule.cpp();
  return {};
}

TEST(Compilable, AnyNumberOfAnyStepMayHelp) {
  auto s = product("csr", "sm_86");
  s.split(n = 128).reorder(n.outer, m, n.inner).bind(n.outer, block_x).stage("B", shared, at = n.outer);
  const UserError::Report report = refusal(s);
  EXPECT_EQ(report.what, "infeasible on sm_86");
  EXPECT_THAT(report.where,
              AllOf(StartsWith("compilable_test.cpp:"),
                    HasSubstr("since step 4 of the schedule, .stage(\"B\", shared, at = n.outer)")));
  EXPECT_THAT(report.found, StartsWith("shared memory B.shared 524288 B > 101376 B"));
  EXPECT_THAT(report.accepted,
              StartsWith(".split(n = 16) in place of .split(n = 128) (compilable_test.cpp:"));
  auto fewer = product("csr", "sm_86");
  fewer.split(n = 16).reorder(n.outer, m, n.inner).bind(n.outer, block_x).stage("B", shared, at = n.outer);
  EXPECT_NO_THROW(require_compilable(fewer, fewer.target()));
}

TEST(Compilable, BuffersInTurnAreOneNumberMore) {
  auto s = product("dense", "sm_80");
  s.split(m = 32, n = 64).split(n.inner = 32).split(k = 128);
  s.reorder(m.outer, n.outer, k.outer, n.inner.inner, k.inner, m.inner, n.inner.outer)
      .bind(m.outer, block_x)
      .bind(n.outer, block_y)
      .stage("B", shared, at = k.outer, depth = 7)
      .bind(n.inner.inner, lane);
  const UserError::Report report = refusal(s);
  EXPECT_THAT(report.found, HasSubstr("B.shared 229376 B > 166912 B"));
  EXPECT_THAT(report.accepted, StartsWith(".stage(\"B\", shared, at = k.outer, depth = 5) in place of "));
}

TEST(Compilable, WithoutANumberThatHelpsAStepIsTakenBack) {
  auto s = product("dense", "sm_75");
  s.reorder(k, m, n);
  EXPECT_THAT(refusal(s).accepted, HasSubstr("a schedule without .reorder(k, m, n) (compilable_test.cpp:"));
  s.split(n = 2);
  EXPECT_THAT(refusal(s).where, HasSubstr("since step 1 of the schedule, .reorder(k, m, n)"));
}

TEST(Compilable, ProgramsThatRunByTheirMeaningHaveNoLimitsOfAGpu) {
  auto s = product("dense", "sm_75");
  s.reorder(k, m, n);
  EXPECT_NO_THROW(require_compilable(s, target_named("cpu")));
}

TEST(Compilable, LocalArraysOfTheCpuFitInMemory) {
  const WeightMatrix matrix = synthetic_layer({.rows = 8, .columns = 32'768, .sparsity = 0.99, .seed = 3});
  Schedule s = schedule(spmm_algorithm(8, 32'768, 32'768, DType::f32), pack(matrix, parse_format("csr")),
                        target_named("cpu"));
  s.split(n = 16'384).reorder(n.outer, m, n.inner).stage("B", shared, at = n.outer);
  const UserError::Report report = refusal(s);
  EXPECT_THAT(report.found,
              StartsWith("local memory B.shared 2147483648 + sum 4 = 2147483652 B > 1073741824 B"));
  EXPECT_THAT(report.accepted, StartsWith(".split(n = 4096) in place of .split(n = 16384)"));
}

TEST(Compilable, OpenNumbersAreToldWithTheirSteps) {
  auto s = product("csr", "cpu");
  s.split(n = 64).split(m = knob("rows", {2, 4}), n.inner = knob("columns", {8, 16}));
  try {
    require_compilable(s, s.target());
    FAIL() << "open numbers were accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.report().where, HasSubstr("step 2 of the schedule"));
    EXPECT_THAT(error.report().found, AllOf(HasSubstr("rows in .split("), HasSubstr("columns in .split(")));
    EXPECT_THAT(error.report().accepted, HasSubstr(".split(m = 2, n.inner = 8)"));
  }
}

}  // namespace
}  // namespace weft
