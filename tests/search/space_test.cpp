// Spaces: what they hold, that points are found fast, and that a point becomes a schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/parse_device.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/points.h>
#include <weft/scheduler/limits/resources_problem.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/unstructured/cut.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>
#include <weft/search/trials/candidates.h>
#include <weft/search/trials/register_correction.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <memory>
#include <random>

#include "space_problems.h"
#include "support/sanitizers.h"

namespace weft {
namespace {

using ir::Expr;
using testing::ElementsAre;
using testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);

TEST(Space, EveryFeasiblePointHoldsAndNoOther) {
  for (const char* target : {"sm_75", "sm_80", "sm_90a"}) {
    const Space space = space_of("shfl_bw", grouped_problem(256, 256, 512, 64), target_named(target));
    const Points points = space.feasible();
    ASSERT_GT(points.size(), 10U);
    EXPECT_LT(static_cast<std::int64_t>(points.size()), space.size());
    for (std::size_t i = 0; i < points.size(); i += 97) EXPECT_EQ(space.violated(points[i]), nullptr);
    // Counted without pruning, by the slow evaluation, over a part of the points.
    std::vector<ir::Knob> few = space.knobs();
    for (ir::Knob& knob : few) knob.values.resize(std::min<std::size_t>(knob.values.size(), 2));
    std::size_t expected = 0, found = 0;
    for_each_point({}, few, SIZE_MAX, [&](std::span<const std::int64_t> values) {
      KnobValues point;
      for (std::size_t i = 0; i < few.size(); ++i) point[few[i].name] = values[i];
      expected += space.violated(point) == nullptr ? 1 : 0;
      return true;
    });
    for_each_point(space.constraints(), few, SIZE_MAX, [&](std::span<const std::int64_t>) {
      ++found;
      return true;
    });
    EXPECT_EQ(found, expected) << target;
  }
}

TEST(Space, TheUsualPointMakesWhatTheRecipeMakesUnasked) {
  for (const char* name : {"sm_75", "sm_80", "sm_90a"}) {
    for (const std::int64_t group : {32, 64, 128}) {
      const Target& target = target_named(name);
      const SpaceProblem problem = grouped_problem(256, 256, 512, group);
      const Space space = space_of("shfl_bw", problem, target);
      const std::optional<KnobValues> usual = space.usual();
      ASSERT_TRUE(usual) << name << " V=" << group;
      EXPECT_EQ(space.violated(*usual), nullptr);
      const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
      EXPECT_EQ(ir::print(space.schedule(*usual).program()),
                ir::print(shfl_bw(problem.algorithm, weights, target).program()));
    }
  }
  for (const char* name : {"sm_80", "sm_90a"}) {
    for (const PairPattern pattern : {PairPattern{}, PairPattern{64, 8}, PairPattern{128, 16}}) {
      const Target& target = target_named(name);
      const SpaceProblem problem = pair_problem(4096, 512, 2048, pattern);
      const Space space = space_of("v_n_m", problem, target);
      const std::optional<KnobValues> usual = space.usual();
      ASSERT_TRUE(usual) << name << " " << problem.format.text();
      EXPECT_EQ(space.violated(*usual), nullptr);
      const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
      EXPECT_EQ(ir::print(space.schedule(*usual).program()),
                ir::print(v_n_m(problem.algorithm, weights, target).program()));
    }
  }
  for (const char* name : {"sm_80", "sm_90a"}) {
    const Target& target = target_named(name);
    SpaceProblem blocks = block_problem(2048, 512, 2048, 0);
    blocks.format = parse_format("hb_ell:pairs=1");
    for (const SpaceProblem& problem : {quad_problem(2048, 512, 2048), blocks}) {
      const Space space = space_of("v_n_m", problem, target);
      const std::optional<KnobValues> usual = space.usual();
      ASSERT_TRUE(usual) << name;
      const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
      EXPECT_EQ(ir::print(space.schedule(*usual).program()),
                ir::print(v_n_m(problem.algorithm, weights, target).program()));
    }
  }
  for (const char* name : {"sm_75", "sm_80", "sm_90a"}) {
    for (const SpaceProblem& problem :
         {block_problem(2048, 512, 4096, 8), block_problem(512, 1024, 1024, 8), block_problem(96, 64, 40, 4),
          block_problem(512, 512, 512, 0, 0.98)}) {
      const Target& target = target_named(name);
      const Space space = space_of("hb_ell", problem, target);
      const std::optional<KnobValues> usual = space.usual();
      ASSERT_TRUE(usual) << name << " " << problem.format.text();
      const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
      EXPECT_EQ(ir::print(space.schedule(*usual).program()),
                ir::print(hb_ell(problem.algorithm, weights, target).program()));
    }
  }
}

TEST(Space, TheRecipeChoosesWhatNoValuesOfKnobsSay) {
  const Target& target = target_named("sm_80");
  const SpaceProblem problem = unstructured_problem(64, 64, 256);
  const Space space = space_of("sparsert", problem, target);
  const KnobValues unasked;
  EXPECT_EQ(space.usual(), unasked);
  EXPECT_EQ(space.violated(unasked), nullptr);
  EXPECT_EQ(space.text(unasked), "sparsert");
  const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
  EXPECT_EQ(ir::print(space.schedule(unasked).program()),
            ir::print(sparsert(problem.algorithm, weights, target).program()));
  const std::vector<Candidate> all =
      candidates_of({space}, Strategy::ranked, [](const TrialPoint&) { return 1.0; });
  EXPECT_EQ(std::ranges::count_if(all, &Candidate::is_of_recipe), 1);
}

TEST(Space, HasTheLargeBlocksOfTheRecipe) {
  const Target& target = target_named("sm_90a");
  for (const auto& [rows, inner, columns] : std::vector<std::array<std::int64_t, 3>>{
           {256, 1024, 6272}, {512, 2048, 1568}, {2048, 512, 1568}, {512, 256, 6272}, {1024, 512, 1568}}) {
    const SpaceProblem problem = unstructured_problem(rows, inner, columns);
    const std::optional<BakedCut> cut =
        BakedProduct({rows, inner, problem.matrix->stored(), columns, 4}, target).cut_of_one_wave();
    ASSERT_TRUE(cut);
    SCOPED_TRACE(testing::PrintToString(std::vector{cut->rows, cut->threads, cut->groups}));
    const Points points = space_of("sparsert", problem, target).worth_trying();
    bool found = false;
    for (std::size_t i = 0; i < points.size() && !found; ++i) {
      const KnobValues point = points[i];
      found = point.at("form") == static_cast<std::int64_t>(SparseRtForm::baked) && point.at("chunk") == 0 &&
              point.at("rows") == cut->rows && point.at("threads") == cut->threads &&
              point.at("groups") == cut->groups;
    }
    EXPECT_TRUE(found) << points.size();
  }
}

TEST(Space, OfASchedule) {
  Schedule s =
      schedule(spmm_algorithm(64, 64, 4096, DType::f32),
               pack(*unstructured_problem(64, 64, 4096).matrix, formats::csr()), target_named("sm_80"));
  s.tile(LoopFactor{m, knob("tile_m", {4, 8})}, LoopFactor{n, knob("tile_n", {64, 1024, 2048})})
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner, thread);
  const Space space = space_of(s);
  EXPECT_EQ(space.size(), 6);
  const Points points = space.feasible();
  ASSERT_EQ(points.size(), 4U) << "a block has 1024 threads at most";
  EXPECT_EQ(space.text(points[1]), "tile_m=4,tile_n=1024");
  EXPECT_THAT(space.schedule(points[1]).cpp(), HasSubstr("n = 1024"));
  EXPECT_TRUE(space.schedule(points[1]).program().knobs.empty());
  const Feasibility clash = space.complete({{"tile_n", 2048}});
  EXPECT_EQ(clash.answer, Answer::infeasible);
  EXPECT_THAT(explain(clash, space.target()), HasSubstr("feasible with tile_n <= 1024"));
}

/// What a step needs as a number at once stays open all the same: the steps are applied again for each value.
TEST(Space, OfAScheduleWhoseStepsAreAppliedAgain) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 40, .columns = 64, .sparsity = 0.7, .dtype = DType::f32});
  Schedule s =
      schedule(spmm_algorithm(40, 64, 100, DType::f32), pack(matrix, formats::csr()), target_named("cpu"));
  s.split(n = knob("tile_n", {16, 32})).balance(m, parts = knob("parts", {2, 5}));
  s.stage("B", shared, at = n.outer).split_k("k", groups = knob("groups", {1, 3}));
  EXPECT_THROW(compile(s), UserError) << "a number is open";
  const Space space = space_of(s);
  const Points points = space.feasible();
  ASSERT_EQ(points.size(), 8U);
  for (const std::size_t i : {std::size_t{0}, points.size() - 1}) {
    const Schedule chosen = space.schedule(points[i]);
    EXPECT_TRUE(chosen.program().knobs.empty());
    EXPECT_THAT(chosen.cpp(), HasSubstr(i == 0 ? "parts = 2" : "parts = 5"));
    Array b = random_array(DType::f32, {64, 100}, 5), c(DType::f32, {40, 100});
    Arguments arguments;
    arguments.tensors = {{"B", &b}, {"C", &c}};
    const Verification verification = verify(compile(chosen), parse_device("cpu"), arguments);
    EXPECT_TRUE(verification.passed) << verification.text();
  }
}

TEST(Space, OfAScheduleWithDepthsThatClash) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 64, .columns = 64, .sparsity = 0.7, .dtype = DType::f32});
  Schedule s = schedule(spmm_algorithm(64, 64, 256, DType::f32), pack(matrix, formats::dense()),
                        target_named("sm_80"));
  s.split(n = knob("tile_n", {64, 128}), LoopFactor{LoopName("k"), 32});
  s.reorder("n.outer", "m", "k.outer", "n.inner", "k.inner").bind("n.outer", block_x).bind("m", block_y);
  s.stage("B", shared, at = LoopName("k.outer"), depth = knob("depth", {2, 4, 8}));
  s.stage("A", shared, at = LoopName("k.outer"), depth = knob("others", {2, 4}));
  s.bind("n.inner", thread);
  const Space space = space_of(s);
  EXPECT_EQ(space.size(), 12);
  std::vector<std::string> found;
  const Points points = space.feasible();
  for (std::size_t i = 0; i < points.size(); ++i) found.push_back(space.text(points[i]));
  // All copies at one loop have one depth; four buffers of 32 x 128 numbers are 64 KB, eight are too much.
  EXPECT_THAT(found,
              testing::UnorderedElementsAre("tile_n=64,depth=2,others=2", "tile_n=64,depth=4,others=4",
                                            "tile_n=128,depth=2,others=2", "tile_n=128,depth=4,others=4"));
  const Constraint* violated = space.violated({{"tile_n", 64}, {"depth", 8}, {"others", 2}});
  ASSERT_NE(violated, nullptr);
  EXPECT_THAT(violated->text, HasSubstr("depth = knob"));
  const auto shared_memory = std::ranges::find(space.constraints(), "shared memory", &Constraint::name);
  ASSERT_NE(shared_memory, space.constraints().end());
  EXPECT_GT(evaluate(shared_memory->left, {{"tile_n", 128}, {"depth", 4}, {"others", 4}}), 4 * 32 * 128 * 4);
}

TEST(Space, OfAScheduleWithPeeledLoopsThatClash) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 40, .columns = 64, .sparsity = 0.7, .dtype = DType::f32});
  Schedule s =
      schedule(spmm_algorithm(40, 64, 100, DType::f32), pack(matrix, formats::csr()), target_named("cpu"));
  s.split(n = knob("tile_n", {16, 32}));
  s.peel(n.outer, from_begin = knob("first", {1, 4}), from_end = knob("last", {1, 3}));
  const Space space = space_of(s);
  std::vector<std::string> found;
  const Points points = space.feasible();
  for (std::size_t i = 0; i < points.size(); ++i) {
    found.push_back(space.text(points[i]));
    EXPECT_NO_THROW(space.schedule(points[i])) << found.back();
  }
  // The loop has seven iterations, or four.
  EXPECT_THAT(found, testing::UnorderedElementsAre("tile_n=16,first=1,last=1", "tile_n=16,first=1,last=3",
                                                   "tile_n=16,first=4,last=1", "tile_n=32,first=1,last=1"));
}

/// Seconds that the thread computed, which other programs on the machine do not change.
double seconds_of(const std::function<void()>& work) {
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  work();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

/// Block, warp and instruction tiles, stages, groups and V of a dense product: 307,200 points.
TEST(Space, ManyPointsAreFilteredInMilliseconds) {
  const auto v = [](const char* name) { return ir::variable(name); };
  const Expr warps = v("BM") / v("WM") * (v("BN") / v("WN"));
  const Expr sums = v("WM") * v("WN") / 32 + 40;
  const Expr bytes = (v("BM") + v("BN")) * v("BK") * v("stages") * 2;
  Space::Parts parts;
  parts.recipe = "tiles";
  parts.knobs = {{"BM", {16, 32, 64, 128, 256}},
                 {"V", {16, 32, 64, 128, 256}},
                 {"WM", {16, 32, 64, 128}},
                 {"BN", {16, 32, 64, 128, 256}},
                 {"WN", {8, 16, 32, 64}},
                 {"BK", {8, 16, 32, 64}},
                 {"K", {8, 16}},
                 {"stages", {1, 2, 3, 4, 5, 6}},
                 {"groups", {1, 2, 4, 8}}};
  parts.knobs.front().values.push_back(192);
  const auto add = [&](const char* name, const Expr& left, const Expr& limit) {
    parts.constraints.push_back({name, name, "", left, limit, {}});
  };
  add("rows of a group", v("BM"), v("V"));
  add("rows of a warp", v("BM") % v("WM"), 0);
  add("columns of a warp", v("BN") % v("WN"), 0);
  add("places of an instruction", v("BK") % v("K"), 0);
  add("threads", warps * 32, 1024);
  add("registers", sums, 255);
  add("shared memory", bytes, 101376);
  add("shared memory of two blocks", (bytes + 1024) * 2, 102400);
  add("registers of two blocks", warps * 32 * sums * 2, 65536);
  add("groups", v("groups"), ir::integer(4096) / v("BK"));
  const Space space(parts);
  EXPECT_GE(space.size(), 300'000);
  std::size_t found = 0;
  double best = 1;
  for (int repeat = 0; repeat < 5; ++repeat)
    best = std::min(best, seconds_of([&] { found = space.feasible().size(); }));
  EXPECT_GT(found, 1'000U);
  EXPECT_LT(best, under_sanitizer ? 0.4 : 0.02) << found << " of " << space.size();
  RecordProperty("milliseconds", std::to_string(1e3 * best));
}

/// Points drawn from all values of the knobs, feasible or not.
TEST(Space, EvaluationAndZ3Agree) {
  if (!resources::has_z3()) GTEST_SKIP() << "[SKIP] weft was built without Z3";
  std::mt19937_64 random(7);
  for (const char* target : {"sm_75", "sm_86", "sm_90a"}) {
    const Space spaces[] = {space_of("shfl_bw", grouped_problem(256, 256, 512, 64), target_named(target)),
                            space_of("sparsert", unstructured_problem(64, 96, 700), target_named(target)),
                            space_of("sparsert", image_problem(), target_named(target)),
                            space_of("sliced_rows", unstructured_problem(64, 96, 5), target_named(target)),
                            space_of("hb_ell", block_problem(256, 512, 512, 4), target_named(target))};
    for (const Space& space : spaces) {
      const Points feasible = space.feasible();
      for (int i = 0; i < 9; ++i) {
        KnobValues point = feasible[random() % feasible.size()];
        // One or two steps away from a feasible point lie the points at which it matters.
        for (int changes = i % 3; changes > 0; --changes) {
          const ir::Knob& knob = space.knobs()[random() % space.knobs().size()];
          point[knob.name] = knob.values[random() % knob.values.size()];
        }
        const bool holds = space.violated(point) == nullptr;
        const Answer answer = resources::solve_by_z3({space.constraints(), space.knobs(), point}).answer;
        EXPECT_EQ(answer, holds ? Answer::feasible : Answer::infeasible) << space.text(point);
      }
    }
  }
}

TEST(Space, WordsOfKnobs) {
  const Space space = space_of("shfl_bw", grouped_problem(128, 64, 64, 64), target_named("sm_90a"));
  EXPECT_EQ(space.value_of("instruction", "wgmma"), 3);
  EXPECT_EQ(space.word_of("instruction", 2), "mma_m16n8k16");
  EXPECT_EQ(space.value_of("tile_n", "256"), 256);
  for (const char* wrong : {"wgma", "4"}) EXPECT_THROW(space.value_of("instruction", wrong), UserError);
  for (const char* wrong : {"", "-1", "6x", "99999999999999999999"})
    EXPECT_THROW(space.value_of("tile_n", wrong), UserError) << wrong;
  try {
    space.complete({{"tile_o", 64}});
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean tile_"));
  }
  EXPECT_THROW(space.schedule({{"tile_m", 64}}), UserError) << "a point has all knobs";
  try {
    space_of("default", grouped_problem(128, 64, 64, 64), target_named("sm_90a")).complete({{"tile_m", 64}});
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("none: it has no knobs"));
  }
}

TEST(Space, OfWhatARecipeIsFor) {
  const auto names = [](const std::vector<Space>& spaces) {
    std::vector<std::string> all;
    for (const Space& space : spaces) all.push_back(space.recipe());
    return all;
  };
  EXPECT_THAT(names(spaces_for(grouped_problem(128, 64, 64, 64), target_named("sm_80"))),
              ElementsAre("shfl_bw", "default"));
  EXPECT_THAT(names(spaces_for(unstructured_problem(64, 64, 64), target_named("sm_80"))),
              ElementsAre("sliced_rows", "sparsert", "default"));
  Target cpu = target_named("cpu");
  cpu.vector_bytes = 64;
  EXPECT_THAT(names(spaces_for(unstructured_problem(64, 64, 64), cpu)),
              ElementsAre("cpu_rows", "cpu_code", "default"));
  EXPECT_THAT(names(spaces_for(grouped_problem(128, 64, 64, 64, DType::bf16), target_named("sm_75"))),
              ElementsAre("default"));
  for (const PairPattern pattern : {PairPattern{}, PairPattern{64, 16}}) {
    EXPECT_THAT(names(spaces_for(pair_problem(128, 64, 64, pattern), target_named("sm_80"))),
                ElementsAre("v_n_m", "default"));
    EXPECT_THAT(names(spaces_for(pair_problem(128, 64, 64, pattern), target_named("sm_75"))),
                ElementsAre("default"));
  }
  for (const std::int64_t every : {0, 8}) {
    EXPECT_THAT(names(spaces_for(block_problem(128, 64, 64, every), target_named("sm_75"))),
                ElementsAre("hb_ell", "default"));
    EXPECT_THAT(names(spaces_for(block_problem(128, 64, 64, every, 0.9, DType::bf16), target_named("sm_75"))),
                ElementsAre("default"));
  }
  EXPECT_THROW(space_of("sparsert", grouped_problem(128, 64, 64, 64), target_named("sm_80")), UserError);
  EXPECT_THROW(space_of("sparsrt", unstructured_problem(64, 64, 64), target_named("sm_80")), UserError);
}

TEST(Space, OccupancyAndRegistersCanBeAskedFor) {
  const SpaceProblem problem = grouped_problem(256, 256, 512, 64);
  const Target& target = target_named("sm_80");
  const Space space = space_of("shfl_bw", problem, target);
  const std::size_t twice = space_of("shfl_bw", problem, target, {.resident_blocks = 2}).feasible().size();
  const Space heavier = space_of("shfl_bw", problem, target, {.more_registers = 32});
  EXPECT_LT(twice, space.feasible().size());
  // What is expected refuses nothing; it says what is worth trying.
  EXPECT_EQ(heavier.feasible().size(), space.feasible().size());
  EXPECT_LT(heavier.worth_trying().size(), space.worth_trying().size());
  EXPECT_GT(std::min(twice, heavier.worth_trying().size()), 0U);
}

TEST(Space, WhatPtxasSaidCorrectsWhatIsExpected) {
  const SpaceProblem problem = grouped_problem(256, 256, 512, 64);
  const Space space = space_of("shfl_bw", problem, target_named("sm_80"));
  const auto& expected =
      std::ranges::find(space.preferences(), "expected registers", &Constraint::name)->left;
  const Points points = space.worth_trying();
  std::vector<StoredRecord> records;
  const auto add = [&](std::size_t index, std::int64_t more, const std::string& target) {
    StoredRecord stored;
    stored.record.recipe = "shfl_bw";
    stored.record.config = points[index];
    stored.record.target.name = target;
    stored.record.registers = static_cast<int>(evaluate(expected, points[index]) + more - 2);
    stored.record.spill_bytes = 16;  // two registers
    records.push_back(stored);
  };
  for (std::size_t i = 0; i < 7; ++i) add(i, 10 + static_cast<std::int64_t>(i), "sm_80");
  for (std::size_t i = 0; i < 20; ++i) add(i, 50, "sm_90a");
  EXPECT_EQ(register_correction(space, records), 0)
      << "seven records are too few, and the others of another target";
  add(7, 17, "sm_80");
  EXPECT_EQ(register_correction(space, records), 14);
  for (std::size_t i = 0; i < 20; ++i) add(i, 900, "sm_80");
  EXPECT_EQ(register_correction(space, records), 64);
}

}  // namespace
}  // namespace weft
