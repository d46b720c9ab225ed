// The search over several formats of the same weights.
#include <gmock/gmock.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/trials/verdict.h>

#include <algorithm>
#include <set>

#include "tuning.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Tuning, FormatsShareAFileAndNoTrials) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("sm_90a");
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::model);
  options.trials = 6;
  const auto search = [&](const Format& format) {
    problem.what.format = format;
    return tune(problem, spaces_for(problem.what, target), target, file, options);
  };
  const TuneResult csr = search(formats::csr());
  EXPECT_EQ(csr.best->pattern.kind, "csr");
  const TuneResult dense = search(formats::dense());
  EXPECT_EQ(dense.status.resumed, 0) << "nothing of this format was there";
  EXPECT_EQ(dense.best->pattern.kind, "dense");
  EXPECT_GT(*dense.status.best, *csr.status.best);
  EXPECT_EQ(search(formats::csr()).status.resumed, csr.status.trials);
  EXPECT_EQ(search(formats::csr()).best->key(), csr.best->key());
  // Whoever asks for no format gets the best of all, and trials of the own format alone are counted.
  options.any_format = true;
  const TuneResult any = search(formats::dense());
  EXPECT_EQ(any.best->key(), csr.best->key());
  EXPECT_EQ(any.status.trials, dense.status.trials);
  EXPECT_EQ(verdict_of(any, problem, target, file.records()).format, "csr");
}

TrialProblem problem_without_pattern() {
  TrialProblem problem;
  problem.what = {spmm_algorithm(256, 512, 1024, DType::f16),
                  std::make_shared<const WeightMatrix>(
                      synthetic_layer({.rows = 256, .columns = 512, .sparsity = 0.75, .dtype = DType::f16})),
                  formats::csr()};
  problem.tensors["B"] = Array(DType::f16, {512, 1024});
  problem.tensors["C"] = Array(DType::f16, {256, 1024});
  problem.columns = 1024;
  problem.source = {{"weights", "w.npy"}};
  return problem;
}

std::set<std::string> formats_of(const RecordFile& file) {
  std::set<std::string> formats;
  for (const StoredRecord& stored : file.records()) formats.insert(stored.record.pattern.kind);
  return formats;
}

TEST_F(Tuning, FormatsAreSearchedTogether) {
  TrialProblem problem = problem_without_pattern();
  const Target& target = target_named("sm_90a");
  const std::vector<Format> formats = formats_worth_trying(*problem.what.matrix);
  const std::vector<Space> spaces = spaces_for(problem.what, formats, target);
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::model);
  options.trials = 16;
  const TuneResult result = tune(problem, spaces, target, file, options);
  EXPECT_EQ(file.records().size(), 16U);
  EXPECT_THAT(formats_of(file), ::testing::IsSupersetOf({"column_quads", "csr"}));
  double least = 1e9;
  for (const StoredRecord& stored : file.records()) {
    EXPECT_EQ(stored.record.source.at("format"), stored.record.pattern.kind) << "replay packs them so";
    least = std::min(least, stored.record.time_of_correct().value_or(least));
  }
  EXPECT_EQ(result.status.best, least);
  EXPECT_EQ(result.status.best_format, result.best->pattern.kind);
  EXPECT_THAT(result.fastest, StartsWith(result.best->recipe));
  // The model of the search is that of a choice, which may be reluctant beside.
  const Choice choice = choose(problem.what.algorithm, *problem.what.matrix, target);
  const auto same = std::ranges::find_if(
      choice.ways, [&](const Way& way) { return way.format.text() == result.best->pattern.kind; });
  ASSERT_NE(same, choice.ways.end());
  EXPECT_NEAR(same->microseconds, least, 0.02 * least);
  const Verdict verdict = verdict_of(result, problem, target, file.records());
  EXPECT_EQ(verdict.format, result.best->pattern.kind);
  ASSERT_GT(verdict.formats.size(), 1U);
  EXPECT_EQ(verdict.formats.front().format, verdict.format);
  EXPECT_EQ(verdict.formats.front().best, least);
  EXPECT_THAT(text_of(verdict, *result.best), HasSubstr(" in " + verdict.format + ", "));
  EXPECT_THAT(text_of(verdict, *result.best), HasSubstr("formats: " + verdict.format + " "));
  // A format alone finds its own trials, all of them find all.
  EXPECT_EQ(tune(problem, spaces, target, file, options).status.resumed, 16);
  const TuneResult narrow = tune(problem, spaces_for(problem.what, target), target, file, options);
  EXPECT_LT(narrow.status.resumed, 16);
  EXPECT_GT(narrow.status.resumed, 0);
  EXPECT_EQ(narrow.best->pattern.kind, "csr");
}

TEST_F(Tuning, EveryFormatWithinReachIsTried) {
  TrialProblem problem = problem_without_pattern();
  const Target& target = target_named("sm_90a");
  const std::vector<Space> spaces =
      spaces_for(problem.what, formats_worth_trying(*problem.what.matrix), target);
  TuneOptions options = options_for(Measure::model);
  std::set<std::string> planned;
  for (const NamedPoint& point : likeliest(problem, spaces, target, options, 12)) {
    planned.insert(point.format);
    const auto number = number_of_space(spaces, point.recipe, point.format);
    ASSERT_TRUE(number);
    EXPECT_EQ(spaces[*number].format().text(), point.format);
  }
  EXPECT_THAT(planned, ::testing::IsSupersetOf({"column_quads", "hb_ell:pairs=1", "csr"}));
  options.only = {{"default", {}, "hb_ell:pairs=1"}, {"default", {}, "ell"}};
  RecordFile file(path(), RecordFile::Mode::append);
  EXPECT_EQ(tune(problem, spaces, target, file, options).points, 1U) << "no space is of ell";
  EXPECT_THAT(formats_of(file), ::testing::ElementsAre("hb_ell:pairs=1"));
}

TEST_F(Tuning, EveryFormatHasItsIncumbent) {
  TrialProblem problem = problem_without_pattern();
  const Target& target = target_named("sm_90a");
  const std::vector<Format> formats{Format{"column_quads", {}}, Format{"hb_ell", {{"pairs", 1}}}};
  RecordFile file(path(), RecordFile::Mode::append);
  TuneOptions options = options_for(Measure::model);
  options.trials = 12;
  tune(problem, spaces_for(problem.what, formats, target), target, file, options);
  TrialProblem other = problem_without_pattern();
  other.what.algorithm = spmm_algorithm(256, 512, 768, DType::f16);
  other.tensors["B"] = Array(DType::f16, {512, 768});
  other.tensors["C"] = Array(DType::f16, {256, 768});
  other.columns = 768;
  tune(other, spaces_for(other.what, formats, target), target, file, options);
  std::set<std::string> of_incumbents;
  for (const StoredRecord& stored : file.records()) {
    if (stored.record.strategy == "incumbent") of_incumbents.insert(stored.record.pattern.kind);
  }
  // That of the other one, which is faster, is what its recipe takes.
  EXPECT_THAT(of_incumbents, ::testing::Contains("column_quads"));
}

TEST_F(Tuning, WhatWasFoundInAnyFormatIsChosen) {
  TrialProblem problem = small_problem();
  const Target& target = target_named("cpu");
  const std::vector<Format> formats{Format{"ell", {}}, formats::csr()};
  RecordFile file(path(), RecordFile::Mode::append);
  const TuneResult result =
      tune(problem, spaces_for(problem.what, formats, target), target, file, options_for(Measure::cpu));
  EXPECT_GE(result.status.trials, 2);
  EXPECT_THAT(formats_of(file), ::testing::ElementsAre("csr", "ell"));
  // Whichever was faster here, the other one is said to be.
  std::vector<StoredRecord> records = file.records();
  for (StoredRecord& stored : records)
    stored.record.microseconds->median = stored.record.pattern.kind == "ell" ? 1 : 2;
  const Choice choice = choose(problem.what.algorithm, *problem.what.matrix, target, {.records = records});
  EXPECT_TRUE(choice.ways.front().measured);
  EXPECT_EQ(choice.ways.front().format.text(), "ell");
}

}  // namespace
}  // namespace weft
