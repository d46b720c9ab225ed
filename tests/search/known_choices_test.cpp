// What searches found, for the same problem of other weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/choice/choice.h>
#include <weft/search/records/recorded_problem.h>

#include <algorithm>

#include "space_problems.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Record trial_of(const SpaceProblem& problem, std::string format, double microseconds) {
  Record record;
  record.problem = recorded_problem(problem.algorithm, *problem.matrix, 256);
  record.pattern.kind = std::move(format);
  record.pattern.stored = problem.matrix->stored();
  record.pattern.hash = "xxh3:1";
  record.target.name = "sm_90a";
  record.measure = "gpu";
  record.recipe = "sparsert";
  record.microseconds = TrialTime{microseconds, microseconds, microseconds, 1};
  record.baselines = {{"weft, dense", true, 3, BaselineOf::weft},
                      {"cuBLAS f32", true, 12.5, BaselineOf::library}};
  return record;
}

TEST(KnownChoices, OfASearchTheFastestKernelAlone) {
  const SpaceProblem problem = unstructured_problem(512, 512, 256);
  std::vector<Record> trials{trial_of(problem, "csr", 20), trial_of(problem, "csr", 10),
                             trial_of(problem, "shfl_bw:V=64", 15), trial_of(problem, "csr", 1),
                             trial_of(problem, "csr", 2)};
  trials[3].status = TrialStatus::correctness;
  trials[4].target.name = "sm_80";
  EXPECT_TRUE(known_choices_of(std::span(trials).first(2), "sm_90a").choices.empty()) << "no search";
  for (Record& one : trials) one.recipe = "default";
  EXPECT_TRUE(known_choices_of(trials, "sm_90a").choices.empty());
  for (Record& one : trials) one.recipe = "sparsert";
  trials.resize(trials.size() + 5, trials[0]);
  const KnownChoices known = known_choices_of(trials, "sm_90a");
  ASSERT_EQ(known.choices.size(), 1U);
  EXPECT_EQ(known.choices[0].format, formats::csr());
  EXPECT_EQ(known.choices[0].microseconds, 10);
  EXPECT_EQ(known.choices[0].structure, "shfl_bw:V=64");
  EXPECT_EQ(known.choices[0].dense->name, "cuBLAS f32");
  // Drawn again, with another search.
  Record again = trial_of(problem, "shfl_bw:V=64", 9);
  again.pattern.hash = "xxh3:2";
  again.pattern.stored += 20;
  trials.resize(trials.size() + 8, again);
  EXPECT_EQ(known_choices_of(trials, "sm_90a").choices.size(), 1U);
  EXPECT_EQ(known_choices_of(trials, "sm_90a").choices[0].microseconds, 9);
}

TEST(KnownChoices, BiasAndActivationChooseNothing) {
  Record::Problem problem;
  problem.sizes = {{"M", 8}, {"K", 9}, {"N", 10}, {"extent_m", 8}, {"extent_k", 9}, {"extent_n", 10}};
  problem.words = {{"algorithm", "C[m, n] = relu(sum(k, A[m, k] * B[k, n]) + bias[m])"}};
  EXPECT_EQ(sum_of(problem).word("algorithm"), "C[m, n] = sum(k, A[m, k] * B[k, n])");
  EXPECT_EQ(sum_of(problem).sizes.size(), 3U);
  EXPECT_EQ(sum_of(sum_of(problem)), sum_of(problem));
  problem.words = {{"algorithm", "another kind of text"}};
  EXPECT_EQ(sum_of(problem).word("algorithm"), "another kind of text");
}

TEST(KnownChoices, OfTheNearestDensity) {
  const SpaceProblem problem = unstructured_problem(512, 512, 256);
  KnownChoices known = known_choices_of(std::vector(8, trial_of(problem, "csr", 20)), "sm_90a");
  known.choices.push_back(known.choices[0]);
  known.choices[0].density = 0.2;
  known.choices[1].density = 0.205;
  const Record::Problem& same = known.choices[0].problem;
  EXPECT_EQ(known.find(same, "csr", 0.204), &known.choices[1]);
  EXPECT_EQ(known.find(same, "csr", 0.201), &known.choices[0]);
  EXPECT_EQ(known.find(same, "csr", 0.3), nullptr);
  EXPECT_EQ(known.find(same, "n_m", 0.2), nullptr);
  Record::Problem other = same;
  other.sizes["N"] = 255;
  EXPECT_EQ(known.find(other, "csr", 0.2), nullptr);
}

TEST(KnownChoices, AreReadAsTheyWereWritten) {
  const std::string text = json_of(shipped_choices());
  EXPECT_EQ(json_of(known_choices_of_json(text, "again")), text);
  std::string cut = text.substr(0, text.size() / 2), unknown = text;
  EXPECT_THROW(known_choices_of_json(cut, "cut.json"), UserError);
  unknown.replace(unknown.find("\"format\":\"") + 10, 1, "?");
  try {
    known_choices_of_json(unknown, "unknown.json");
    FAIL() << "a format that is none was taken";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown.json"));
    EXPECT_THAT(error.what(), HasSubstr("choices[0].format"));
  }
}

TEST(KnownChoices, WhatShipsHasTheKnobsOfItsRecipes) {
  ASSERT_GT(shipped_choices().choices.size(), 100U);
  for (const KnownChoice& one : shipped_choices().choices) {
    const Recipe* recipe = recipe_named(one.recipe);
    ASSERT_NE(recipe, nullptr) << one.recipe;
    for (const auto& [name, value] : one.point) {
      EXPECT_TRUE(std::ranges::any_of(
          recipe->knobs, [&, of_point = &name](const auto& knob) { return knob.name == *of_point; }))
          << one.recipe << ' ' << name;
    }
  }
}

/// The default schedule is what no model would take.
TEST(KnownChoices, StandBeforeWhatIsModelled) {
  const SpaceProblem problem = unstructured_problem(512, 512, 256);
  KnownChoices known = known_choices_of(std::vector(8, trial_of(problem, "csr", 20)), "sm_90a");
  known.choices[0].recipe = "default";
  const auto chosen = [&](const char* target, const ChoiceOptions& options) {
    return choose(problem.algorithm, *problem.matrix, target_named(target), options);
  };
  const Choice choice = chosen("sm_90a", {.known = &known});
  EXPECT_TRUE(choice.first().known);
  EXPECT_THAT(choice.text(), HasSubstr("default in csr, about 20 us by a search; second"));
  EXPECT_EQ(choice.first().recipe->name, "default");
  EXPECT_EQ(choice.dense->name, "cuBLAS f32");
  EXPECT_EQ(choice.faster(), Faster::dense);
  EXPECT_NE(chosen("sm_90a", {.known = nullptr}).first().recipe->name, "default");
  EXPECT_NE(chosen("sm_80", {.known = &known}).first().recipe->name, "default");
  EXPECT_NE(chosen("sm_90a", {.recipes = {"sparsert"}, .known = &known}).first().recipe->name, "default");
}

}  // namespace
}  // namespace weft
