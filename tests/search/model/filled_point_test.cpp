// What a recipe would take for the numbers that a point leaves open: the same schedule, said in full.
#include <gtest/gtest.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/parts/written.h>
#include <weft/search/model/bound.h>

#include "../space_problems.h"

namespace weft {
namespace {

Schedule written(const SpaceProblem& problem, const KnobValues& point) {
  const Recipe& recipe = *recipe_named("sparsert");
  auto packed = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
  return schedule_by(recipe, problem.algorithm, std::move(packed), target_named("sm_90a"), point);
}

KnobValues filled(const SpaceProblem& problem, const KnobValues& point) {
  const ProblemSummary summary = summary_of(problem.algorithm, *problem.matrix, problem.format);
  return filled_point(summary, "sparsert", point, target_named("sm_90a"));
}

void expect_the_same(const SpaceProblem& problem, const KnobValues& point, const char* knob) {
  const KnobValues whole = filled(problem, point);
  ASSERT_TRUE(whole.contains(knob)) << knob;
  EXPECT_GT(whole.at(knob), 0) << knob;
  EXPECT_EQ(written(problem, whole).cpp(), written(problem, point).cpp());
}

TEST(FilledPoint, CodeWithItsCut) {
  expect_the_same(unstructured_problem(256, 512, 784), {}, "threads");
  expect_the_same(unstructured_problem(256, 512, 784), {{"rows", 16}}, "groups");
}

TEST(FilledPoint, CodeInChunks) {
  expect_the_same(unstructured_problem(512, 512, 16384), {}, "chunk");
}

TEST(FilledPoint, PiecesAndRowsByTheirForm) {
  expect_the_same(unstructured_problem(4096, 2048, 64), {}, "form");
  expect_the_same(unstructured_problem(4096, 2048, 256), {}, "form");
}

TEST(FilledPoint, WhatIsGivenStays) {
  const SpaceProblem problem = unstructured_problem(256, 512, 784);
  const KnobValues whole = filled(problem, {{"rows", 8}, {"form", 1}});
  EXPECT_EQ(whole.at("rows"), 8);
  EXPECT_EQ(filled(problem, whole), whole);
}

TEST(FilledPoint, ARecipeThatDoesNotSayLeavesThePoint) {
  const SpaceProblem problem = unstructured_problem(64, 64, 64);
  const ProblemSummary summary = summary_of(problem.algorithm, *problem.matrix, problem.format);
  EXPECT_EQ(filled_point(summary, "default", {}, target_named("sm_90a")), KnobValues());
  EXPECT_EQ(filled_point(summary, "sparsert", {}, target_named("cpu")), KnobValues());
}

TEST(FilledPoint, ImagesWithTheirLines) {
  const SpaceProblem problem = image_problem();
  expect_the_same(problem, {}, "lines");
  expect_the_same(problem, {{"image", 2}}, "rows");
}

}  // namespace
}  // namespace weft
