// The program after each step, as text; schedules as C++ and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/steps/parts/baked_entry.h>

#include <chrono>

#include "support/examples.h"
#include "support/golden.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(f);
WEFT_INDEX(q);

/// Every program of the schedule, the steps between them.
std::string story(const Schedule& schedule) {
  std::string text = ir::print(schedule.history().front());
  for (std::size_t i = 0; i < schedule.steps().size(); ++i) {
    text += "\n" + schedule.steps()[i].cpp() + "\n" + ir::print(schedule.history()[i + 1]);
  }
  return text;
}

TEST(Steps, CsrOnTheCpu) {
  auto s = test::spmm_schedule("cpu");
  s.tile(m = 5, n = 32).reorder(m.inner, k, n.inner).vectorize(n.inner).parallel(m.outer);
  test::expect_golden("steps/csr_cpu.txt", story(s));
}

TEST(Steps, CsrOnAGpuWithStagedOperand) {
  auto s = test::spmm_schedule("sm_80", formats::csr(), Extent::any("N"));
  s.split(m = 4, n = 64)
      .split(n.inner = 32)
      .reorder(n.outer, m.outer, m.inner, n.inner.inner, k, n.inner.outer)
      .bind(m.outer, block_x)
      .bind(n.outer, block_y)
      .stage("B", shared, at = n.outer)
      .bind(m.inner, warp)
      .bind(n.inner.inner, lane)
      .unroll(n.inner.outer);
  test::expect_golden("steps/csr_gpu_staged.txt", story(s));
}

TEST(Steps, CscMovesColumnsIntoTheWalk) {
  auto s = test::spmm_schedule("cpu", formats::csc());
  s.split(n = 16).reorder(k, "m.stored", n.inner).vectorize(n.inner).parallel(n.outer);
  test::expect_golden("steps/csc_cpu.txt", story(s));
}

TEST(Steps, EllGuardsItsPadding) {
  auto s = test::spmm_schedule("cpu", formats::ell());
  s.split(n = 16).reorder(k, n.inner).unroll(k);
  test::expect_golden("steps/ell_cpu.txt", story(s));
}

TEST(Steps, CooScattersIntoAWorkspace) {
  auto s = test::spmm_schedule("sm_80", formats::coo());
  s.split(n = 64).bind(n.outer, block_x).bind(n.inner, thread);
  test::expect_golden("steps/coo_gpu.txt", story(s));
}

TEST(Steps, DenseTilesInRegisters) {
  auto s = test::spmm_schedule("cpu", formats::dense());
  s.tile(m = 4, n = 32)
      .reorder(m.outer, n.outer, k, m.inner, n.inner)
      .unroll(m.inner)
      .vectorize(n.inner)
      .stage("B", registers, at = k);
  test::expect_golden("steps/dense_cpu.txt", story(s));
}

TEST(Steps, Convolution) {
  auto s = test::convolution_schedule("sm_80");
  s.split(f = 2).split(q = 32).bind(f.outer, block_x).bind(f.inner, warp).bind(q.inner, lane);
  test::expect_golden("steps/convolution_gpu.txt", story(s));
}

/// A block of four rows for each warp, two columns for each thread, the last of them outside of B.
Schedule baked_schedule(Extent columns) {
  auto s = test::spmm_schedule("sm_80", formats::csr(), columns);
  s.split(m = 4, n = 64)
      .split(n.inner = 32)
      .reorder(n.outer, m.outer, n.inner.inner, m.inner, k, n.inner.outer)
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner.inner, lane)
      .bake_values(m.inner, code_bytes = 26 * 1024);
  return s;
}

TEST(Steps, BakedValuesAreConstantsOfTheProgram) {
  test::expect_golden("steps/baked_gpu.txt", ir::print(baked_schedule(Extent(100)).program()));
}

TEST(Steps, ABakedScheduleRoundTripsThroughJson) {
  const auto s = baked_schedule(Extent::any("N"));
  auto replayed = test::spmm_schedule("sm_80", formats::csr(), Extent::any("N"));
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
  EXPECT_EQ(s.steps().back().cpp(), ".bake_values(m.inner, code_bytes = 26624)");
}

TEST(Steps, GroupsShareASum) {
  auto s = test::spmm_schedule("sm_80");
  s.split(m = 4, n = 32).bind(m.outer, block_y).bind(n.outer, block_x).bind(n.inner, lane);
  s.split_k(k, groups = 3).bind("k.group", warp);
  test::expect_golden("steps/split_k_gpu.txt", ir::print(s.program()));
}

TEST(Steps, ResidentBlocksAreRefusedWhereTheyDoNotFit) {
  auto s = test::spmm_schedule("sm_90a");
  s.split(m = 4, n = 512).bind(m.outer, block_y).bind(n.outer, block_x).bind(n.inner, thread);
  auto many = s;
  s.resident(blocks = 4);
  EXPECT_THAT(ir::print(s.program()), testing::HasSubstr("resident: 4 blocks a multiprocessor"));
  EXPECT_EQ(s.steps().back().cpp(), ".resident(blocks = 4)");
  EXPECT_NO_THROW(lower(s.program(), s.target()));
  many.resident(blocks = 5);
  EXPECT_THROW(require_feasible(many.program(), many.target()), InfeasibleError);
}

TEST(Steps, ResultsStreamOnce) {
  auto s = test::spmm_schedule("sm_80");
  s.split(m = 4, n = 32).bind(m.outer, block_y).bind(n.outer, block_x).bind(n.inner, lane);
  EXPECT_THROW(s.stream_results("B"), UserError) << "B is read";
  s.stream_results("C");
  EXPECT_THAT(ir::print(s.program()), testing::HasSubstr("results stream"));
  EXPECT_EQ(s.steps().back().cpp(), ".stream_results(\"C\")");
  EXPECT_THROW(s.stream_results("C"), UserError) << "twice";
  EXPECT_THROW(test::spmm_schedule("cpu").stream_results("C"), UserError);
}

TEST(Steps, BakedEntriesAreDealtToGroups) {
  auto s = test::spmm_schedule("sm_80");
  s.split(m = 4, n = 32).reorder(m.outer, n.outer, n.inner, m.inner);
  s.bind(m.outer, block_y).bind(n.outer, block_x).bind(n.inner, lane);
  s.split_k(k, groups = 3).bind("k.group", warp).bake_values(m.inner);
  test::expect_golden("steps/baked_groups.txt", ir::print(s.program()));
}

TEST(Steps, ChunksOfBakedCodeAreStagedAhead) {
  auto s = test::spmm_schedule("sm_80");
  s.split(m = 6, n = 32).reorder(m.outer, n.outer, n.inner, m.inner);
  s.bind(m.outer, block_y).bind(n.outer, block_x).bake_values(m.inner, chunk = 8);
  s.reorder("k.chunk", n.inner).bind(n.inner, thread).stage("B", shared, at = "k.chunk", depth = 2);
  test::expect_golden("steps/baked_chunks.txt", ir::print(s.program()));
  auto replayed = test::spmm_schedule("sm_80");
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
  EXPECT_THAT(s.cpp(), testing::HasSubstr(".bake_values(m.inner, chunk = 8)"));
  EXPECT_THAT(s.cpp(), testing::HasSubstr(".stage(\"B\", shared, at = \"k.chunk\", depth = 2)"));
}

TEST(Steps, CopiesAskNoIndicesBehindTheirTile) {
  const auto staged = [](std::int64_t blocks, std::int64_t buffers) {
    auto s = test::spmm_schedule("sm_80", parse_format("blocked_ell:b=8"));
    s.stage("A", shared, at = "m.row").split(LoopName("k.block") = blocks);
    return s.stage("B", shared, at = "k.block.inner", depth = buffers);
  };
  EXPECT_NO_THROW(staged(64, 1));
  EXPECT_NO_THROW(staged(1, 2));
  try {
    staged(64, 2);
    FAIL() << "the copies of the iterations behind the last block read the list of columns behind its end";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("A.column.shared[k.block.outer * 64 + k.block.inner] ahead"));
  }
}

TEST(Steps, BakedConvolutionsClampTheReadsOfTheBorder) {
  auto s = test::convolution_schedule("sm_80");
  s.split(f = 3).bind(f.outer, block_x).bind(q, lane).bake_values(f.inner);
  test::expect_golden("steps/baked_convolution.txt", ir::print(s.program()));
}

TEST(Steps, AScheduleRoundTripsThroughJson) {
  auto s = test::spmm_schedule("sm_80", formats::csr(), Extent::any("N"));
  s.split(m = knob("rows", {2, 4, 8}), n = 32).bind(m.outer, block_x).bind(n.inner, lane);
  auto replayed = test::spmm_schedule("sm_80", formats::csr(), Extent::any("N"));
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
  EXPECT_EQ(s.cpp(), replayed.cpp());
  EXPECT_EQ(s.cpp(),
            ".split(m = knob(\"rows\", {2, 4, 8}), n = 32)\n.bind(m.outer, block_x)\n.bind(n.inner, lane)");
}

TEST(Steps, AStepThatDoesNotApplyLeavesTheScheduleAsItWas) {
  auto s = test::spmm_schedule("cpu");
  s.split(n = 32);
  const std::string before = ir::print(s.program());
  EXPECT_THROW(s.vectorize(m), UserError);
  EXPECT_THROW(s.bind(m, block_x), UserError);
  EXPECT_EQ(ir::print(s.program()), before);
  EXPECT_EQ(s.steps().size(), 1U);
}

TEST(Steps, JsonThatIsNoScheduleIsRefused) {
  for (const char* text : {"", "{}", "[1]", "[{\"step\": 3}]", "[{\"step\": \"split\"}]",
                           "[{\"step\": \"split\", \"arguments\": [[\"n\"]]}]"}) {
    if (std::string(text) == "{}") continue;
    EXPECT_THROW(steps_of_json(text), UserError) << text;
  }
  auto s = test::spmm_schedule("cpu");
  EXPECT_THROW(s.apply({"weave", {}, {}}), UserError);
  EXPECT_THROW(s.apply({"vectorize", {}, {}}), UserError);
  EXPECT_THROW(s.apply({"bind", {{{}, std::string("m")}}, {}}), UserError);
}

TEST(Steps, ATileOfATileHasANameOfItsOwn) {
  auto s = test::spmm_schedule("sm_80", formats::ell());
  s.split(n = 4).reorder(m, k, n.inner);
  s.stage("B", registers, at = k).stage("B", registers, at = k).stage("B", registers, at = m);
  const std::string text = ir::print(s.program());
  EXPECT_THAT(text, testing::HasSubstr("allocate B.registers:"));
  EXPECT_THAT(text, testing::HasSubstr("allocate B.registers2:"));
  EXPECT_THAT(text, testing::HasSubstr("allocate B.registers3:"));
}

TEST(Steps, StageFindsReadsInEveryPlaceOfALoop) {
  // In coo the first n.inner sets the sums to zero and reads nothing.
  auto s = test::spmm_schedule("cpu", formats::coo());
  s.tile(n = 4, m = 8).stage("B", shared, at = n.inner);
  EXPECT_THAT(ir::print(s.program()), testing::HasSubstr("allocate B.shared:"));
}

TEST(BakedEntries, ThoseThatReadTheSameAreTogetherHoweverManyReadsThereAre) {
  constexpr std::int64_t reads = 40'000;
  const auto b = ir::make_buffer("B", DType::f32, ir::Scope::global, ir::Access::read, {ir::integer(reads)});
  std::vector<steps::BakedEntry> entries;
  for (const std::int64_t row : {0, 1}) {
    for (std::int64_t i = 0; i < reads; ++i)
      entries.push_back({0, row, ir::constant(DType::f32, 1), ir::load(b, {ir::integer(i)}), {}});
  }
  entries[5].shared = {};
  const auto begin = std::chrono::steady_clock::now();
  const auto groups = steps::together_alike(entries);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_EQ(groups.size(), static_cast<std::size_t>(reads + 1));
  EXPECT_EQ(groups[4].size(), 2U);
  EXPECT_EQ(groups[4][1].row, 1);
  EXPECT_EQ(groups[5].size(), 1U) << "what is not read is added alone";
  EXPECT_EQ(groups.back().front().row, 1) << "in order of their first ones";
}

}  // namespace
}  // namespace weft
