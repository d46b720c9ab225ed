// The search with candidates that do everything wrong that there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/trials/verdict.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "support/sanitizers.h"
#include "tuning.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace fs = std::filesystem;

/// What a candidate does, the value of the knob "kind".
enum Kind : std::int64_t { right = 1, crash, hang, miscompute, refuse, fail, memory };

Schedule behaving(Kind kind, const SpaceProblem& what, const Target& target) {
  WeightMatrix matrix = *what.matrix;
  switch (kind) {
    case crash: std::abort();
    case hang:
      for (;;) pause();
    case miscompute:
      matrix.values.set(5, 3 + matrix.values.get(5));  // the kernel has another weight in it
      break;
    case refuse: throw InfeasibleError("a point does not fit", "too much", "less");
    case fail: throw InternalError("a step is wrong");
    case memory: {
      // Untouched: what counts is what is asked for, and pages that are filled take seconds.
      std::vector<std::unique_ptr<char[]>> all;
      for (;;) all.emplace_back(new char[std::size_t{64} << 20U]);
    }
    case right: break;
  }
  return default_schedule(what.algorithm, std::make_shared<const SparseTensor>(pack(matrix, formats::csr())),
                          target);
}

/// `kinds` of candidates, and several of each.
Space faulty_space(const SpaceProblem& what, const Target& target, std::vector<std::int64_t> kinds) {
  return Space({.recipe = "faulty",
                .target = target.name,
                .knobs = {{"kind", std::move(kinds)}, {"number", {1, 2}}},
                .constraints = {},
                .preferences = {},
                .schedule = [what, target](const KnobValues& point) {
                  return behaving(static_cast<Kind>(point.at("kind")), what, target);
                }});
}

/// A sanitizer's own memory is beyond the limits that workers have.
constexpr bool limits_memory = !under_address_sanitizer && !under_thread_sanitizer;

TEST_F(Tuning, FaultsAreCountedUnderTheirKindAndTheSearchGoesOn) {
  TrialProblem problem = small_problem();
  for (const auto& [measure, name] : {std::pair{Measure::cpu, "cpu"}, {Measure::sim, "sm_80"}}) {
    const Target& target = target_named(name);
    std::vector<std::int64_t> kinds{right, crash, hang, miscompute, refuse, fail};
    if (limits_memory) kinds.push_back(memory);
    const std::vector<Space> spaces{faulty_space(problem.what, target, kinds)};
    TuneOptions options = options_for(measure);
    options.measure.build_seconds = 4;
    options.measure.memory_bytes = std::uint64_t{1} << 30U;
    options.jobs = 3;
    RecordFile file(path(name), RecordFile::Mode::append);
    const TuneResult result = tune(problem, spaces, target, file, options);
    EXPECT_EQ(result.status.trials, limits_memory ? 14 : 12);
    ASSERT_TRUE(result.best);
    EXPECT_EQ(result.best->config.at("kind"), right);
    EXPECT_GT(*result.status.best, 0);
    using S = TrialStatus;
    const std::map<TrialStatus, std::int64_t> expected{
        {S::constraints, 2}, {S::compile, limits_memory ? 6 : 4}, {S::timeout, 2}, {S::correctness, 2}};
    EXPECT_EQ(result.status.failures, expected);
    for (const StoredRecord& stored : file.records()) {
      const Record& record = stored.record;
      switch (record.config.at("kind")) {
        case crash: EXPECT_THAT(record.message, HasSubstr("Aborted")); break;
        case hang: EXPECT_THAT(record.message, StartsWith("no end within")); break;
        case memory: EXPECT_THAT(record.message, HasSubstr("memory")); break;
        case miscompute:
          EXPECT_TRUE(record.verified);
          EXPECT_FALSE(record.microseconds);
          break;
        default: break;
      }
    }
  }
}

TEST_F(Tuning, AKernelThatSpillsTooMuchIsInfeasible) {
  // An assembler that finds spills everywhere.
  const fs::path tools = path("tools");
  fs::create_directory(tools);
  std::ofstream(tools / "ptxas") << R"(#!/bin/sh
case "$*" in *--version*) echo "release 13.0, V13.0.88"; exit 0;; esac
echo "ptxas info    : Compiling entry function 'k' for 'sm_80'" >&2
echo "ptxas info    : Function properties for k" >&2
echo "    128 bytes stack frame, 6000 bytes spill stores, 7000 bytes spill loads" >&2
echo "ptxas info    : Used 255 registers, 400 bytes cmem[0]" >&2
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo cubin > "$2"; shift; done
)";
  fs::permissions(tools / "ptxas", fs::perms::owner_all);
  const std::string former = getenv("PATH");
  // The toolkit is looked for once, in the processes of the trials.
  setenv("PATH", (tools.string() + ":" + former).c_str(), 1);
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_80");
  const std::vector<Space> spaces{faulty_space(problem.what, target, {right})};
  RecordFile file(path(), RecordFile::Mode::append);
  const TuneResult result = tune(problem, spaces, target, file, options_for(Measure::sim));
  setenv("PATH", former.c_str(), 1);
  ASSERT_EQ(file.records().size(), 2U);
  EXPECT_EQ(file.records()[0].record.spill_bytes, 13000);
  EXPECT_EQ(file.records()[0].record.registers, 255);
  EXPECT_EQ(file.records()[0].record.status, TrialStatus::constraints);
  EXPECT_THAT(file.records()[0].record.message, HasSubstr("13000 B"));
  EXPECT_FALSE(result.best);
}

TEST_F(Tuning, GoesOnWhereItWas) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90a");
  const std::vector<Space> spaces = spaces_for(problem.what, target);
  TuneOptions options = options_for(Measure::model);
  options.trials = 7;
  RecordFile file(path(), RecordFile::Mode::append);
  EXPECT_EQ(tune(problem, spaces, target, file, options).status.resumed, 0);
  options.trials = 12;
  const TuneResult result = tune(problem, spaces, target, file, options);
  EXPECT_EQ(result.status.resumed, 7);
  EXPECT_EQ(result.status.trials, 12);
  EXPECT_EQ(file.records().size(), 12U);
  std::set<std::string> keys;
  for (const StoredRecord& stored : file.records()) keys.insert(stored.record.key());
  EXPECT_EQ(keys.size(), 12U);
  // With as many as asked for, nothing is tried.
  EXPECT_EQ(tune(problem, spaces, target, file, options).status.trials, 12);
  EXPECT_EQ(file.records().size(), 12U);
}

TEST_F(Tuning, TrialsOfOtherPointsLeaveRoomForThese) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90a");
  const std::vector<Space> spaces = spaces_for(problem.what, target);
  TuneOptions options = options_for(Measure::model);
  options.strategy = Strategy::feasible;
  options.limits = {{"form", {"baked"}}, {"chunk", {"0"}}, {"rows", {"8"}}, {"groups", {"1"}}};
  RecordFile file(path(), RecordFile::Mode::append);
  const std::int64_t others = tune(problem, spaces, target, file, options).status.trials;
  options.limits.at("rows") = {"16"};
  const TuneResult result = tune(problem, spaces, target, file, options);
  EXPECT_GT(result.points, 0U);
  EXPECT_EQ(result.status.trials,
            std::min(options.trials, others + static_cast<std::int64_t>(result.points)));
}

TEST_F(Tuning, TheModelTriesWhatThereIsWithoutARecipe) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90a");
  const std::vector<Space> spaces = spaces_for(problem.what, target);
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::model);
  options.trials = 4;  // what recipes take unasked comes first
  tune(problem, spaces, target, file, options);
  EXPECT_TRUE(std::ranges::any_of(file.records(), [](const StoredRecord& stored) {
    return stored.record.recipe == "default" && stored.record.strategy == "default";
  }));
  const auto planned = likeliest(problem, spaces, target, options, 3);
  EXPECT_TRUE(
      std::ranges::any_of(planned, [](const NamedPoint& point) { return point.recipe == "default"; }));
}

TEST_F(Tuning, ASimulatedTimeStandsBesideASimulatedOne) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90");
  const std::vector<Space> spaces{faulty_space(problem.what, target, {right})};
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::sim);
  options.trials = 1;
  const TuneResult result = tune(problem, spaces, target, file, options);
  ASSERT_EQ(result.baselines.size(), 1U);
  EXPECT_EQ(result.baselines[0].whose, BaselineOf::weft);
  EXPECT_GT(result.baselines[0].microseconds, 0);
  ASSERT_EQ(file.records()[0].record.baselines.size(), 1U);
  EXPECT_EQ(file.records()[0].record.baselines[0].whose, BaselineOf::weft);
  // What an older file says of the model's dense product is nothing to compare a simulated time with.
  Record old = *result.best;
  old.baselines = {{"dense, by the model", true, 1, BaselineOf::model}};
  EXPECT_EQ(dense_beside(old), nullptr);
  old.measure = "model";
  EXPECT_NE(dense_beside(old), nullptr);
}

/// A record of 10 us, by that measure.
Record timed(const char* measure, const char* recipe = "sparsert") {
  Record record;
  record.measure = measure;
  record.recipe = recipe;
  record.microseconds = {10, 9.5, 10.5, 15};
  return record;
}

TEST(Standings, HaveAWinnerOnlyBeyondTheError) {
  const ProblemSummary large{
      .m = 4096, .k = 4096, .n = 4096, .dtype = DType::f32, .stored = 1 << 21, .dense_elements = 1 << 24};
  const Format csr = formats::csr();
  const auto standing = [&](const Record& record, const char* target, double dense, BaselineOf whose) {
    return standing_of({record, large, csr, target_named(target)}, {"dense", true, dense, whose});
  };
  using Winner = Faster;
  // Measured: the spread of the samples is all there is.
  EXPECT_EQ(standing(timed("gpu"), "sm_90a", 15, BaselineOf::library).winner, Winner::kernel);
  EXPECT_EQ(standing(timed("gpu"), "sm_90a", 8, BaselineOf::library).winner, Winner::dense);
  EXPECT_THAT(standing(timed("gpu"), "sm_90a", 10.2, BaselineOf::library).why_none,
              HasSubstr("within the spread of the samples"));
  // Faster than weft's own dense kernel says nothing of a library; slower says enough.
  EXPECT_EQ(standing(timed("cpu", "default"), "cpu", 34.9, BaselineOf::weft).winner, Winner::none);
  EXPECT_EQ(standing(timed("cpu", "default"), "cpu", 34.9, BaselineOf::weft).why_none,
            "no library was measured");
  EXPECT_EQ(standing(timed("cpu", "default"), "cpu", 5, BaselineOf::weft).winner, Winner::dense);
  const auto of_bytes = [&](const char* dtype, const char* measure, const char* target) {
    Record record = timed(measure);
    record.problem.words["dtype"] = dtype;
    return standing(record, target, 34.9, BaselineOf::weft).why_none;
  };
  EXPECT_EQ(of_bytes("e4m3", "gpu", "sm_90a"), "no library was measured");
  EXPECT_THAT(of_bytes("i8", "gpu", "sm_90a"), HasSubstr("none is asked for products of i8 here"));
  EXPECT_THAT(of_bytes("e4m3", "cpu", "cpu"), HasSubstr("none is asked for products of e4m3 here"));
  // By the model 1.31 times faster: within its error, whichever way.
  const Standing modelled = standing(timed("model"), "sm_90", 13.1, BaselineOf::model);
  EXPECT_EQ(modelled.winner, Winner::none);
  EXPECT_THAT(modelled.why_none, HasSubstr("within the error of the analytic model (factor 3.1)"));
  EXPECT_EQ(standing(timed("model"), "sm_90", 40, BaselineOf::model).winner, Winner::kernel);
  EXPECT_EQ(standing(timed("model"), "sm_90", 3, BaselineOf::model).winner, Winner::dense);
  EXPECT_THAT(standing(timed("model"), "sm_80", 300, BaselineOf::model).why_none,
              HasSubstr("never compared"));
  // By the simulator, of which the error is known where it was compared.
  EXPECT_THAT(standing(timed("sim", "default"), "sm_90", 17.2, BaselineOf::weft).why_none,
              HasSubstr("within the error of the simulator's time model"));
  EXPECT_EQ(standing(timed("sim", "default"), "sm_90", 2, BaselineOf::weft).winner, Winner::dense);
  EXPECT_THAT(standing(timed("sim", "shfl_bw"), "sm_90", 2, BaselineOf::weft).why_none,
              HasSubstr("never compared"));
}

TEST(Standings, OfALaunchThereIsNone) {
  const ProblemSummary tiny{.m = 8, .k = 8, .n = 8, .dtype = DType::f32, .stored = 8, .dense_elements = 64};
  const Record record = timed("model");
  const Standing standing = standing_of({record, tiny, formats::csr(), target_named("sm_90")},
                                        {"dense, by the model", true, 1000, BaselineOf::model});
  EXPECT_EQ(standing.winner, Faster::none);
  EXPECT_THAT(standing.why_none, HasSubstr("launch"));
  // And nothing is 120 percent of its bound.
  EXPECT_THAT(text_of_bound(12, "launch", timed("sim")), ::testing::Not(HasSubstr("%")));
  EXPECT_THAT(text_of_bound(5, "memory", timed("sim")), HasSubstr("50 %"));
}

TEST_F(Tuning, EmptyAndImpossibleRequestsNameTheLineThatMadeThem) {
  RecordFile file(path(), RecordFile::Mode::append);
  const Target& target = target_named("sm_90a");
  const auto refusal = [&](TrialProblem problem, const TuneOptions& options, const Target& on) {
    try {
      tune(problem, {}, on, file, options);
    } catch (const UserError& error) {
      EXPECT_THAT(error.report().where, HasSubstr("tune_test.cpp:"));
      EXPECT_FALSE(error.report().accepted.empty());
      return error.report().found;
    }
    return std::string("no error");
  };
  const TuneOptions usual = options_for(Measure::model);
  EXPECT_EQ(refusal({}, usual, target), "no algorithm");
  TrialProblem problem = small_problem();
  problem.what.matrix = nullptr;
  EXPECT_EQ(refusal(problem, usual, target), "no weights");
  problem = small_problem();
  problem.tensors.erase("B");
  EXPECT_EQ(refusal(problem, usual, target), "no B");
  TuneOptions options = usual;
  options.trials = 0;
  EXPECT_EQ(refusal(small_problem(), options, target), "0");
  options = usual;
  options.seconds = std::nan("");
  EXPECT_EQ(refusal(small_problem(), options, target), "nan");
  options = usual;
  options.jobs = -1;
  EXPECT_EQ(refusal(small_problem(), options, target), "-1");
  EXPECT_THROW(spaces_for({}, target), UserError);
  EXPECT_THROW(space_of("default", {}, target), UserError);
  EXPECT_THROW(verdict_of({}, small_problem(), target, {}), UserError);
  // A model of a processor there is not.
  problem = small_problem();
  const Target& cpu = target_named("cpu");
  try {
    tune(problem, spaces_for(problem.what, cpu), cpu, file, usual);
    FAIL() << "a CPU by the model of GPUs";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--measure cpu"));
  }
  // Kernels of GPUs on a processor, which says nothing about them.
  problem = small_problem();
  options = usual;
  options.measure.measure = Measure::cpu;
  try {
    tune(problem, spaces_for(problem.what, target), target, file, options);
    FAIL() << "a GPU by the time of a processor";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--measure sim or model, or gpu where there is one"));
  }
  // Nobody has to listen.
  TuneHooks deaf;
  deaf.progress = nullptr;
  deaf.stop = nullptr;
  options = usual;
  options.trials = 1;
  EXPECT_EQ(tune(problem, spaces_for(problem.what, target), target, file, options, deaf).status.trials, 1);
}

TEST_F(Tuning, TheBestOfALikeProblemIsTheIncumbent) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90a");
  std::vector<Space> spaces = spaces_for(problem.what, target);
  std::erase_if(spaces, [](const Space& space) { return space.recipe() == "default"; });
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::model);
  options.strategy = Strategy::random;
  options.limits = {{"form", {"baked"}}};  // none of what recipes take unasked
  options.trials = 5;
  const TuneResult first = tune(problem, spaces, target, file, options);
  TrialProblem other = small_problem();
  other.what.algorithm = spmm_algorithm(32, 48, 24, DType::f32);
  other.tensors["B"] = random_array(DType::f32, {48, 24}, 2);
  other.tensors["C"] = Array(DType::f32, {32, 24});
  other.columns = 24;
  options.trials = 1;
  tune(other, spaces, target, file, options);
  const Record& record = file.records().back().record;
  EXPECT_EQ(record.strategy, "incumbent");
  EXPECT_EQ(record.config, first.best->config);
  EXPECT_EQ(record.problem.sizes.at("N"), 24);
}

TEST_F(Tuning, AStopFinishesTheTrial) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("cpu");
  const std::vector<Space> spaces{faulty_space(problem.what, target, {right})};
  RecordFile file(path(), RecordFile::Mode::append);
  TuneHooks hooks;
  bool stop = false;
  hooks.stop = [&] { return stop; };
  hooks.progress = [&](const TuneStatus& status) { stop = status.trials >= 1; };
  const TuneResult result = tune(problem, spaces, target, file, options_for(Measure::cpu), hooks);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(file.records().size(), 1U);
  EXPECT_TRUE(file.records()[0].record.time_of_correct());
}

TEST_F(Tuning, ABudgetOfTimeEndsIt) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("cpu");
  const std::vector<Space> spaces{faulty_space(problem.what, target, {hang, right})};
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::cpu);
  options.seconds = 0.5;
  options.measure.build_seconds = 1.5;
  const TuneResult result = tune(problem, spaces, target, file, options);
  EXPECT_FALSE(result.interrupted);
  EXPECT_LT(result.status.trials, 4);
}

TEST_F(Tuning, WhatCannotBeTunedIsAnError) {
  TrialProblem problem = small_problem();
  RecordFile file(path(), RecordFile::Mode::append);
  const Target& target = target_named("sm_90a");
  EXPECT_THROW(tune(problem, {}, target, file, options_for(Measure::model)), InfeasibleError);
  tune(problem, spaces_for(problem.what, target), target, file, options_for(Measure::model));
  const Target& older = target_named("sm_80");
  EXPECT_THROW(tune(problem, spaces_for(problem.what, older), older, file, options_for(Measure::model)),
               UserError);
}

TEST_F(Tuning, TheVerdictNamesDenseAndTheTurningPoint) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90a");
  const std::vector<Space> spaces = spaces_for(problem.what, target);
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::model);
  options.trials = 5;
  const TuneResult result = tune(problem, spaces, target, file, options);
  Verdict verdict = verdict_of(result, problem, target, file.records());
  ASSERT_TRUE(verdict.dense);
  EXPECT_GT(*verdict.bound, 0);
  EXPECT_FALSE(verdict.bound_by.empty());
  verdict.dense_below_n = 64;
  verdict.dense->microseconds = verdict.microseconds / 2;
  verdict.standing = Standing{Faster::dense, 0.5, {}, 1.0};
  const std::string text = text_of(verdict, *result.best);
  EXPECT_THAT(text, HasSubstr("2.00x faster"));
  EXPECT_THAT(text, HasSubstr("stay dense"));
  EXPECT_THAT(text, HasSubstr("N below 64"));
  EXPECT_THAT(text, HasSubstr("bounded by"));
  EXPECT_THAT(text, StartsWith("fastest: "));
}

}  // namespace
}  // namespace weft
