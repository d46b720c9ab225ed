// Numbers of steps, as large and as small as they can be written: each is taken, or refused with what was
// found and what would be accepted, and what is taken runs.
#include <gmock/gmock.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/limits/advice.h>
#include <weft/search/measure/verify.h>

#include <chrono>
#include <functional>
#include <iostream>

#include "support/examples.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr std::int64_t numbers[] = {INT64_MIN,
                                    -(std::int64_t{1} << 31),
                                    -1,
                                    0,
                                    1,
                                    3,
                                    1024,
                                    1025,
                                    16'384,
                                    16'385,
                                    65'535,
                                    65'536,
                                    1 << 30,
                                    INT32_MAX,
                                    std::int64_t{1} << 31,
                                    std::int64_t{1} << 62,
                                    INT64_MAX};

/// Applies the step, and runs what it makes on the CPU: within a second, right, or refused with a reason.
/// True where it was taken.
bool expect_taken_or_refused(Schedule schedule, const Step& step) {
  SCOPED_TRACE(schedule.cpp() + "\n" + step.cpp() + " on " + schedule.target().name);
  const auto begin = std::chrono::steady_clock::now();
  bool taken = false;
  try {
    if (const auto reason = schedule.try_apply(step)) {
      EXPECT_FALSE(reason->found.empty());
      EXPECT_FALSE(reason->accepted.empty());
    } else {
      taken = true;
      Array b = random_array(DType::f32, {20, 100}, 5, RandomValues::small_integers),
            c(DType::f32, {12, 100});
      const Verification verified = verify(compile(schedule, {.assemble = false, .by_meaning = true}),
                                           Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
      EXPECT_TRUE(verified.passed) << verified.text();
    }
  } catch (const UserError& error) {
    EXPECT_FALSE(error.report().accepted.empty()) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  return taken;
}

/// The step with each of the numbers; which were taken.
std::vector<std::int64_t> taken(const Schedule& schedule, const std::function<Step(std::int64_t)>& step) {
  std::vector<std::int64_t> result;
  for (const std::int64_t number : numbers) {
    if (expect_taken_or_refused(schedule, step(number))) result.push_back(number);
  }
  return result;
}

Argument word(const char* text) {
  return {{}, std::string(text)};
}

TEST(Limits, FactorsOfSplitAndTile) {
  for (const char* target : {"cpu", "sm_80"}) {
    const Schedule fixed = test::spmm_schedule(target),
                   open = test::spmm_schedule(target, formats::csr(), Extent::any("N"));
    const auto split = [](const char* loop) {
      return [loop](std::int64_t number) { return Step{"split", {{loop, number}}, {}}; };
    };
    EXPECT_EQ(taken(fixed, split("n")), (std::vector<std::int64_t>{1, 3, 1024}));
    EXPECT_EQ(taken(fixed, split("k")), (std::vector<std::int64_t>{1, 3, 1024}));
    EXPECT_EQ(taken(open, split("n")), (std::vector<std::int64_t>{1, 3, 1024, 1025, 16'384}));
    const auto tile = [](std::int64_t number) { return Step{"tile", {{"m", number}, {"n", number}}, {}}; };
    EXPECT_EQ(taken(fixed, tile), (std::vector<std::int64_t>{1, 3, 1024}));
  }
  const auto reason = test::spmm_schedule("cpu").try_apply({"split", {{"n", std::int64_t{1} << 31}}, {}});
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->found, "n = 2147483648");
  EXPECT_EQ(reason->accepted, "a factor from 1 to 1024, because n has 100 iterations: .split(n = 64)");
}

TEST(Limits, AFactorMayBeAsLargeAsItsLoop) {
  Schedule wide = test::spmm_schedule("cpu", formats::csr(), 100'000);
  EXPECT_FALSE(wide.try_apply({"split", {{"n", std::int64_t{131'072}}}, {}}).has_value());
  EXPECT_TRUE(test::spmm_schedule("cpu", formats::csr(), 100'000)
                  .try_apply({"split", {{"n", std::int64_t{131'073}}}, {}})
                  .has_value());
}

TEST(Limits, ValuesOfKnobs) {
  const Schedule s = test::spmm_schedule("cpu");
  for (const std::int64_t number : numbers) {
    Schedule tried = s;
    const auto reason = tried.try_apply({"split", {{"n", KnobChoice{"tile", {2, number}}}}, {}});
    EXPECT_EQ(reason.has_value(), number < 1 || number > 1024) << number;
    Schedule other = s;
    const auto groups =
        other.try_apply({"split_k", {word("k"), {"groups", KnobChoice{"groups", {2, number}}}}, {}});
    EXPECT_EQ(groups.has_value(), number < 1 || number > 1024) << number;
  }
}

TEST(Limits, OtherNumbersOfTheCpu) {
  const Schedule s = test::spmm_schedule("cpu");
  Schedule rows = s;
  rows.split(LoopFactor{LoopName("m"), 4});
  Schedule staged = test::spmm_schedule("cpu", formats::dense());
  staged.split(LoopFactor{LoopName("k"), 4});
  const auto numbered = [](const char* step, std::vector<Argument> arguments, const char* name) {
    return [=](std::int64_t number) {
      Step made{step, arguments, {}};
      made.arguments.push_back({name, number});
      return made;
    };
  };
  EXPECT_EQ(taken(s, numbered("split_k", {word("k")}, "groups")), (std::vector<std::int64_t>{1, 3, 1024}));
  EXPECT_EQ(taken(s, numbered("balance", {word("m")}, "parts")),
            (std::vector<std::int64_t>{1, 3, 1024, 1025, 16'384, 16'385, 65'535}));
  EXPECT_EQ(taken(rows, numbered("bake_values", {word("m.inner")}, "chunk")).front(), 1);
  taken(rows, numbered("bake_values", {word("m.inner")}, "code_bytes"));
  EXPECT_EQ(
      taken(staged, numbered("stage", {word("B"), word("shared"), {"at", std::string("k.outer")}}, "depth")),
      (std::vector<std::int64_t>{1, 3}));
  EXPECT_TRUE(taken(s, numbered("pool", {word("m"), word("k")}, "workers")).empty());
  EXPECT_TRUE(taken(s, numbered("reorder_writeback", {word("C")}, "columns")).empty());
}

TEST(Limits, OtherNumbersOfAGpu) {
  Schedule s = test::spmm_schedule("sm_90a");
  s.split(LoopFactor{LoopName("n"), 32}).reorder("n.outer", "m", "n.inner");
  s.bind("n.outer", block_y).bind("m", block_x).bind("n.inner", thread);
  EXPECT_EQ(taken(s,
                  [](std::int64_t number) {
                    return Step{"persist", {word("n.outer"), word("m"), {"blocks", number}}, {}};
                  }),
            (std::vector<std::int64_t>{1, 3, 1024, 1025, 16'384, 16'385, 65'535}));
  EXPECT_EQ(taken(s, [](std::int64_t number) { return Step{"resident", {{"blocks", number}}, {}}; }),
            (std::vector<std::int64_t>{1, 3}));
  for (const char* name : {"producers", "producer_registers", "consumer_registers"}) {
    EXPECT_TRUE(taken(s, [&](std::int64_t number) {
                  return Step{"specialize_warps", {{name, number}}, {}};
                }).empty());
  }
}

std::string refusal(Schedule schedule, const Step& step) {
  const auto reason = schedule.try_apply(step);
  return reason ? reason->found + " / " + reason->accepted : std::string("nothing was refused");
}

TEST(Limits, LoopsThatAreBoundShareWhatABlockHas) {
  const auto bind = [](const char* loop, const char* axis) {
    return Step{"bind", {word(loop), word(axis)}, {}};
  };
  Schedule s = test::spmm_schedule("sm_80");
  s.split(LoopFactor{LoopName("m"), 4}, LoopFactor{LoopName("n"), 32});
  Schedule lanes = s;
  lanes.bind("n.inner", lane);
  EXPECT_THAT(
      refusal(lanes, bind("m.inner", "lane")),
      testing::AllOf(HasSubstr("32 x 4 = 128 lanes"), HasSubstr("at most 32 lanes"), HasSubstr("warp)")));
  EXPECT_EQ(refusal(lanes, bind("m.inner", "warp")), "nothing was refused");
  EXPECT_THAT(refusal(lanes, bind("m.inner", "thread")),
              testing::AllOf(HasSubstr("n.inner is bound to lane"), HasSubstr(R"(.bind(m.inner, warp))")));
  Schedule warps = s;
  warps.bind("n.inner", warp);
  EXPECT_THAT(refusal(warps, bind("m.inner", "warp")), HasSubstr("at most 32 warps in a nest"));
  Schedule threads = s;
  threads.bind("n.inner", thread);
  EXPECT_EQ(refusal(threads, bind("m.inner", "thread")), "nothing was refused");
  Schedule wide = test::spmm_schedule("sm_80");
  wide.split(LoopFactor{LoopName("m"), 8}, LoopFactor{LoopName("n"), 256}).bind("n.inner", thread);
  EXPECT_THAT(refusal(wide, bind("m.inner", "thread")), HasSubstr("at most 1024 threads in a nest"));
  Schedule blocks = s;
  blocks.bind("m.outer", block_x);
  EXPECT_THAT(refusal(blocks, bind("n.outer", "block_x")), HasSubstr(".bind(n.outer, block_y)"));
  Schedule tall = test::spmm_schedule("sm_80", formats::csr(), 70'000);
  EXPECT_THAT(refusal(tall, bind("n", "block_y")), HasSubstr("at most 65535 blocks along block_y"));
  EXPECT_EQ(refusal(tall, bind("n", "block_x")), "nothing was refused");
  EXPECT_THAT(refusal(s, bind("m.outer", "blocks")), HasSubstr("an axis called blocks"));
}

TEST(Limits, BlocksOfOneAxisAreAsManyInAllPlaces) {
  // First values and results go over all rows, what is added over the stored ones.
  Schedule s = test::spmm_schedule("sm_80", formats::csc());
  s.split(LoopFactor{LoopName("n"), 32}).bind("n.inner", thread).reorder("m", "n.outer");
  const auto refused = s.try_apply({"bind", {word("m"), word("block_x")}, {}});
  ASSERT_TRUE(refused.has_value());
  EXPECT_FALSE(refused->accepted.empty());
}

TEST(Limits, AGpuWithoutABoundLoopIsToldSo) {
  EXPECT_THAT(
      advice_on(test::spmm_schedule("sm_80")),
      testing::ElementsAre("no loop is bound: one thread of sm_80 computes everything; .bind(m, block_x) "
                           "shares it out to blocks"));
  // The rows share a workspace.
  EXPECT_THAT(advice_on(test::spmm_schedule("sm_80", formats::csc())),
              testing::ElementsAre(HasSubstr(".bind(n, block_x)")));
  Schedule bound = test::spmm_schedule("sm_80");
  bound.bind("m", block_x);
  EXPECT_THAT(advice_on(bound), testing::IsEmpty());
  EXPECT_THAT(advice_on(test::spmm_schedule("cpu")), testing::IsEmpty());
  Schedule split = test::spmm_schedule("sm_80");
  split.split(LoopFactor{LoopName("n"), 32});
  EXPECT_THAT(
      advice_on(split),
      testing::ElementsAre(HasSubstr("no loop is bound in the schedule that goes up to limits_test.cpp:")));
  EXPECT_THAT(compile(test::spmm_schedule("sm_80"), {.assemble = false}).explain(),
              HasSubstr("no loop is bound"));
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_FALSE(error.report().found.empty()) << error.what();
    EXPECT_FALSE(error.report().accepted.empty()) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

/// What expressions of the language cannot say, an Algorithm that is filled in by hand can.
TEST(Limits, AlgorithmsMadeByHandAreChecked) {
  const Schedule legal = test::spmm_schedule("cpu");
  const auto made = [&](const std::function<void(Algorithm&)>& change) {
    Algorithm algorithm = legal.algorithm();
    change(algorithm);
    return refusal([&] { schedule(algorithm, legal.shared_weights(), legal.target()); });
  };
  made([](Algorithm& a) { a.factors[1].operand = SIZE_MAX; });
  made([](Algorithm& a) { a.factors[1].indices[0].terms[0].second = INT64_MIN; });
  made([](Algorithm& a) { a.accumulator = DType::i8; });
  made([](Algorithm& a) { a.indices.clear(); });
}

TEST(Limits, ArraysThatSayWhatRunsAreNotStitched) {
  Schedule s = test::spmm_schedule("sm_80");
  const Step stitch{"stitch", {{"", "A.begin"}, {"", "shared"}, {"at", "m"}}, {}, {}};
  EXPECT_THAT(refusal([&] { s.apply(stitch); }), HasSubstr("says which iterations run"));
}

TEST(Limits, RowsOfAPartAreNoBlocks) {
  Schedule s = test::spmm_schedule("sm_80");
  s.apply({"balance", {{"", "m"}, {"parts", std::int64_t{2}}}, {}, {}});
  EXPECT_THAT(refusal([&] { s.apply({"bind", {{"", "m.inner"}, {"", "block_z"}}, {}, {}}); }),
              HasSubstr("differ from block to block"));
}

TEST(Limits, KnobsAndWordsOfSteps) {
  Schedule s = test::spmm_schedule("cpu");
  EXPECT_THAT(refusal([&] { s.apply({"split", {{"n", KnobChoice{"", {}}}}, {}, {}}); }),
              HasSubstr("with 0 values"));
  EXPECT_THAT(refusal([&] { s.apply({"reorder", {{"", "n"}, {"\xff\xfe", "k"}}, {}, {}}); }),
              HasSubstr("a word that no program has"));
  EXPECT_THAT(refusal([&] { steps_of_json("1e999"); }), HasSubstr("no double holds"));
}

}  // namespace
}  // namespace weft
