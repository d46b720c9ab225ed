// What is chosen for weights that come without names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/parse_device.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/dsl/tensor.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/pruned_for.h>
#include <weft/formats/random.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/measure/verify.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "space_problems.h"

namespace weft {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> formats_of(const WeightMatrix& weights) {
  std::vector<std::string> names;
  for (const Format& format : formats_worth_trying(weights)) names.push_back(format.text());
  return names;
}

WeightMatrix unstructured(double sparsity, DType dtype, std::int64_t rows = 512,
                          std::int64_t columns = 2048) {
  return synthetic_layer({.rows = rows, .columns = columns, .sparsity = sparsity, .dtype = dtype});
}

std::span<const std::byte> bytes_of(const Array& array) {
  return {array.data(), array.bytes()};
}

Choice chosen(const SpaceProblem& problem, const char* target, const ChoiceOptions& options = {}) {
  return choose(problem.algorithm, *problem.matrix, target_named(target), options);
}

TEST(FormatsWorthTrying, PatternsAreFound) {
  EXPECT_THAT(formats_of(*pair_problem(256, 512, 64, {0, 4}).matrix),
              ElementsAre("n_m", "column_quads", "hb_ell:pairs=1", "csr"));
  EXPECT_THAT(formats_of(*pair_problem(256, 512, 64, {64, 16}).matrix).front(), "v_n_m:M=16,V=64");
  EXPECT_THAT(formats_of(*pair_problem(256, 500, 64, {32, 10}).matrix).front(), "v_n_m:M=10,V=32");
  for (const std::int64_t rows : {64, 128}) {
    const WeightMatrix layer = dense_weights(256, 512, DType::f16, 3);
    const Format mixed = formats::mixed({.rows = rows});
    const WeightMatrix weights = pruned(layer, choose_weights(layer, mixed, {.sparsity = 0.3}));
    EXPECT_THAT(formats_of(weights), ElementsAre(rows == 128 ? "mixed" : "mixed:V=64", "csr"));
  }
  EXPECT_THAT(formats_of(*grouped_problem(512, 512, 64, 32).matrix), Contains("shfl_bw:V=32"));
  EXPECT_THAT(formats_of(*grouped_problem(512, 512, 64, 128).matrix), Contains("shfl_bw:V=128"));
}

/// A weight in groups of 64 rows, of which half of the entries are zero by chance.
WeightMatrix thinned_groups(DType dtype) {
  const SpaceProblem problem = grouped_problem(256, 512, 64, 64, dtype);
  Random random(2);
  Array dense = to_dense(*problem.matrix);
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    if (random.uniform() < 0.5) dense.set(i, 0);
  }
  return from_dense(dense, "thinned groups");
}

TEST(FormatsWorthTrying, WhatTheFileSaysComesFirst) {
  WeightMatrix weights = thinned_groups(DType::f16);
  EXPECT_THAT(formats_of(weights), Not(Contains("shfl_bw:V=64")));
  std::vector<std::int32_t> order(256);
  std::iota(order.rbegin(), order.rend(), 0);
  weights.pruned_for = std::make_shared<const PrunedFor>(formats::shfl_bw(), order);
  EXPECT_EQ(formats_of(weights).front(), "shfl_bw:V=64");
  const auto on_cpu = formats_worth_trying(weights, target_named("cpu"));
  EXPECT_THAT(on_cpu, Contains(formats::column_vectors(16)));
  EXPECT_THAT(on_cpu, Not(Contains(formats::shfl_bw())));
  const Choice choice = choose(spmm_algorithm(256, 512, 512, DType::f16), weights, target_named("sm_90a"));
  EXPECT_THAT(choice.ways, Contains(testing::Field(&Way::format, formats::shfl_bw())));
  // The model counts the zeros that are stored.
  const auto stored_in = [&](const Format& format) {
    return summary_of(spmm_algorithm(256, 512, 512, DType::f16), weights, format).stored;
  };
  const SparseTensor packed = pack(weights, formats::shfl_bw());
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < packed.array("column").size(); ++i)
    kept += packed.array("column").get_integer(i) >= 0 ? 1 : 0;
  EXPECT_EQ(stored_in(formats::shfl_bw()), 64 * kept);
  EXPECT_GT(64 * kept, weights.stored());
  EXPECT_EQ(stored_in(formats::csr()), weights.stored());
  // Tensor cores take no f32, and single weights are csr.
  EXPECT_THAT(formats_of(converted(weights, DType::f32)), ElementsAre("csr"));
  weights.pruned_for = std::make_shared<const PrunedFor>(formats::ell());
  EXPECT_THAT(formats_of(weights), Not(Contains("ell")));
  weights.pruned_for = std::make_shared<const PrunedFor>(formats::bcsr(32));
  EXPECT_EQ(formats_of(converted(weights, DType::f32)).front(), "bcsr:b=32");
}

TEST(Choose, OnACpuTheDefaultScheduleComesLast) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn}) {
    const Convolution c{
        .batch = 32, .channels = 64, .filters = 32, .image = {7, 7}, .filter = {1, 1}, .layout = layout};
    const SpaceProblem problem{convolution_algorithm(c, DType::f32),
                               std::make_shared<const WeightMatrix>(unstructured(0.9, DType::f32, 32, 64)),
                               formats::csr()};
    EXPECT_NE(chosen(problem, "cpu").first().recipe->name, "default") << name_of(layout);
  }
}

TEST(Choose, ImagesOnACpuGoByWhatTheRecipeTakesItself) {
  // Measured on a processor with such caches: 371 us in code and 508 as lists, and 154 and 98.
  Target target = target_named("x86-64-v4");
  target.first_cache_bytes = 32 << 10;
  target.second_cache_bytes = 1 << 20;
  const auto taken = [&](const Convolution& c, double zeros) {
    const WeightMatrix weights =
        unstructured(zeros, DType::f32, c.filters, c.channels * c.filter[0] * c.filter[1]);
    const Choice choice = choose(convolution_algorithm(c, DType::f32), weights, target);
    EXPECT_FALSE(choice.first().point.has_value());
    return choice.first().recipe->name;
  };
  EXPECT_EQ(taken({.channels = 64, .filters = 64, .image = {56, 56}, .filter = {3, 3}, .pad = {1, 1}}, 0.9),
            "cpu_code");
  EXPECT_EQ(taken({.channels = 256, .filters = 64, .image = {56, 56}, .filter = {1, 1}}, 0.95), "cpu_rows");
}

TEST(FormatsWorthTrying, EveryFormatHoldsTheWeights) {
  for (const SpaceProblem& problem :
       {pair_problem(256, 512, 64, {64, 8}), grouped_problem(256, 512, 64, 64), quad_problem(256, 512, 64)}) {
    const Array expected = to_dense(*problem.matrix);
    for (const Format& format : formats_worth_trying(*problem.matrix)) {
      const Array packed = pack(*problem.matrix, format).to_dense();
      EXPECT_TRUE(std::ranges::equal(bytes_of(packed), bytes_of(expected))) << format.text();
    }
  }
}

TEST(FormatsWorthTrying, BlocksAndNeighboursAreNoShuffledRows) {
  const std::vector<std::string> of_blocks = formats_of(block_weights(256, 512, 32, 0.75, DType::f16, 1));
  EXPECT_THAT(of_blocks, Contains("vector_wise:V=32"));
  EXPECT_THAT(of_blocks, Contains("bcsr:b=32"));
  EXPECT_THAT(formats_of(*grouped_problem(256, 512, 64, 32).matrix), Not(Contains("bcsr:b=32")));
}

TEST(FormatsWorthTrying, AKeptWeightThatIsZeroMakesNoOtherGroups) {
  const WeightMatrix whole = block_weights(256, 512, 64, 0.75, DType::f16, 1);
  Array dense = to_dense(whole);
  for (std::int64_t group = 0; group < 4; ++group) {
    const std::int64_t row = 64 * group + 5;
    dense.set(row * 512 + whole.columns_of(row).front(), 0);
  }
  EXPECT_THAT(formats_of(from_dense(dense, "with zeros")), Contains("vector_wise:V=64"));
}

TEST(FormatsWorthTrying, LittlePrunedIsDenseAndSinglesAreLists) {
  EXPECT_THAT(formats_of(unstructured(0.1, DType::f32)), ElementsAre("dense", "csr"));
  EXPECT_THAT(formats_of(unstructured(0.9, DType::f32)), ElementsAre("csr"));
}

TEST(Choice, TakesThePatternAndSaysWhatCameSecond) {
  const Choice choice = chosen(grouped_problem(1024, 1024, 1000, 64), "sm_90a");
  EXPECT_EQ(choice.ways.front().format.text(), "shfl_bw:V=64");
  EXPECT_EQ(choice.ways.front().recipe->name, "shfl_bw");
  EXPECT_TRUE(std::ranges::is_sorted(choice.ways, {}, &Way::rank));
  EXPECT_THAT(choice.text(), HasSubstr("in shfl_bw:V=64, about "));
  EXPECT_THAT(choice.text(), HasSubstr("; second "));
  EXPECT_THAT(choice.text(), HasSubstr("; dense about "));
}

TEST(Choice, ThePredictorTakesThePointAndLeavesTheTime) {
  const SpaceProblem problem = grouped_problem(1024, 1024, 1000, 64);
  const Choice with = chosen(problem, "sm_90a"), without = chosen(problem, "sm_90a", {.predictor = nullptr});
  const FeatureValues values = features_of(summary_of(problem.algorithm, *problem.matrix, problem.format),
                                           device_numbers(target_named("sm_90a")));
  ASSERT_TRUE(shipped_predictor().times.covers(values));
  const auto best = static_cast<std::size_t>(shipped_predictor().times.ranking(values).front().number);
  EXPECT_EQ(with.ways.front().point, shipped_predictor().classes[best].point);
  EXPECT_NE(with.ways.front().point, without.ways.front().point);
  EXPECT_EQ(with.ways.front().microseconds, without.ways.front().microseconds);
  EXPECT_EQ(with.ways[1].point, without.ways.front().point);
  // Outside of what was measured nothing changes: other rows, groups and targets.
  const std::pair<SpaceProblem, const char*> others[] = {{grouped_problem(1024, 1024, 1001, 64), "sm_90a"},
                                                         {grouped_problem(1024, 1024, 1000, 16), "sm_90a"},
                                                         {grouped_problem(1024, 1024, 8, 64), "sm_90a"},
                                                         {problem, "sm_80"}};
  for (const auto& [other, target] : others)
    EXPECT_EQ(chosen(other, target).text(), chosen(other, target, {.predictor = nullptr}).text());
}

TEST(Choice, UnstructuredHalvesGoToSparseTensorCores) {
  const Choice choice = chosen(quad_problem(512, 512, 4096), "sm_90a");
  EXPECT_EQ(choice.ways.front().recipe->name, "v_n_m");
}

// 512 x 2048 x 256 on an H200: cuBLAS 21.3 us, the best sparse kernel 29 to 39.
TEST(Choice, DoesNotPromiseWhereLittleIsPruned) {
  for (const double sparsity : {0.5, 0.6, 0.7}) {
    const auto matrix = unstructured(sparsity, DType::f32);
    const Choice choice = choose(spmm_algorithm(512, 2048, 256, DType::f32), matrix, target_named("sm_90a"));
    EXPECT_NE(choice.faster(), Faster::kernel) << choice.text();
    EXPECT_LT(choice.dense->microseconds, choice.ways.front().microseconds);
    EXPECT_EQ(choice.ways.front().recipe->name, "sparsert");
  }
  const SpaceProblem sparse = unstructured_problem(2048, 2048, 256);
  EXPECT_NE(chosen(sparse, "sm_90a").faster(), Faster::dense);
}

Choice with_times(double sparse, const KnownError& of_sparse, double dense, const KnownError& of_dense) {
  Choice choice;
  choice.ways.push_back({formats::csr(), recipe_named("sparsert"), {}, sparse, false, of_sparse});
  choice.dense = {"dense", dense, false, of_dense};
  return choice;
}

TEST(Choice, NamesAFasterOneOnlyBeyondTheErrorsOfBothTimes) {
  const KnownError sparse{0.5, 1.6}, dense{0.8, 1.25};
  EXPECT_EQ(with_times(10, sparse, 10 * 1.69, dense).faster(), Faster::kernel);
  EXPECT_EQ(with_times(10, sparse, 10 * 1.67, dense).faster(), Faster::none);
  EXPECT_EQ(with_times(10, sparse, 10 / 2.08, dense).faster(), Faster::dense);
  EXPECT_EQ(with_times(10, sparse, 10 / 2.06, dense).faster(), Faster::none);
  EXPECT_THAT(with_times(10, sparse, 100, dense).text(), HasSubstr("; dense about 100 us: sparse is faster"));
  EXPECT_THAT(with_times(10, sparse, 1, dense).text(), HasSubstr("; dense about 1 us: stay dense"));
  EXPECT_THAT(with_times(10, sparse, 10, dense).verdict(),
              "no verdict: within the error of the models (factor 2.1)");
  Choice choice = with_times(10, sparse, 1000, dense);
  choice.ways.front().error = std::nullopt;
  EXPECT_EQ(choice.faster(), Faster::none);
  EXPECT_THAT(choice.verdict(),
              "no verdict: kernels of sparsert in csr were never compared with their model");
  choice.dense = std::nullopt;
  EXPECT_EQ(choice.faster(), Faster::none);
  EXPECT_THAT(choice.verdict(), HasSubstr("no time of the dense product"));
}

TEST(Choice, OperandsToTransposeCostTimeAndAreNoGroundForAVerdict) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {512, 2048});
  const Tensor<f32, 2> B("B", {2048, 512}), C("C", {512, 512}), X("X", {512, 2048}), Y("Y", {512, 512});
  const WeightMatrix weights = unstructured(0.9, DType::f32);
  const auto time_of = [&](const Algorithm& algorithm) {
    const Choice choice = choose(algorithm, weights, target_named("sm_90a"));
    EXPECT_EQ(choice.first().error.has_value(), algorithm.name == "features") << choice.text();
    return choice.first().microseconds;
  };
  const double features = time_of(algorithm("features", C(m, n) = sum(k, A(m, k) * B(k, n))));
  const double input = time_of(algorithm("input", C(m, n) = sum(k, A(m, k) * X(n, k))));
  const double rows = time_of(algorithm("rows", Y(n, m) = sum(k, A(m, k) * X(n, k))));
  EXPECT_GT(input, features + 1);
  EXPECT_GT(rows, input + 1);
}

TEST(Choice, ReluctanceIsInTheRankAndNotInTheTime) {
  const SpaceProblem problem = unstructured_problem(512, 2048, 256);
  const ProblemSummary summary = summary_of(problem.algorithm, *problem.matrix, problem.format);
  const Target& target = target_named("sm_90a");
  for (const Way& way : chosen(problem, "sm_90a").ways) {
    EXPECT_EQ(way.reluctance, way.recipe->name == "default" ? 1.15 : 1) << way.text();
    if (way.recipe->name == "default") {
      EXPECT_EQ(way.microseconds,
                expected_time(summary, way.format, "default", {}, target, ceilings_of(DType::f32, target)));
    }
  }
  // Of this architecture nothing was compared.
  for (const Way& way : chosen(problem, "sm_80").ways)
    EXPECT_EQ(way.reluctance, way.recipe->name == "default" ? 3 : 1.5) << way.text();
  EXPECT_EQ(chosen(problem, "sm_80").faster(), Faster::none);
}

TEST(Choice, HasTheBestPointOfEveryForm) {
  std::vector<std::int64_t> forms;
  double before = 0;
  for (const Way& way : chosen(unstructured_problem(512, 2048, 256), "sm_90a").ways) {
    if (way.recipe->name != "sparsert" || !way.point) continue;
    forms.push_back(way.point->at("form"));
    EXPECT_GE(way.microseconds, before);
    before = way.microseconds;
  }
  EXPECT_GE(forms.size(), 3U);
  std::ranges::sort(forms);
  EXPECT_TRUE(std::ranges::adjacent_find(forms) == forms.end()) << "one of each";
}

// Rows of an odd number of columns are aligned first, so that warps of their own copy whole runs: 58 us where
// threads copied elements, 27 so.
TEST(Choice, WarpsCopyRunsOfOddRows) {
  const Choice choice = chosen(pair_problem(1024, 4096, 2047, {64, 16}), "sm_90a");
  const Way& way = choice.ways.front();
  ASSERT_TRUE(way.point);
  EXPECT_GT(way.point->at("producers"), 0) << choice.text();
}

TEST(Choice, NamesNarrowIt) {
  const SpaceProblem problem = grouped_problem(256, 512, 64, 64);
  EXPECT_EQ(chosen(problem, "sm_90a", {.formats = {formats::csr()}}).ways.front().format, formats::csr());
  for (const Way& way : chosen(problem, "sm_90a", {.recipes = {"v_n_m"}}).ways)
    EXPECT_EQ(way.recipe->name, "v_n_m");
  EXPECT_THROW(chosen(problem, "sm_90a", {.formats = {formats::csr()}, .recipes = {"v_n_m"}}), UserError);
}

TEST(FormatsWorthTrying, TwoOfFourOfBytes) {
  for (const DType type : {DType::i8, DType::e4m3, DType::e5m2}) {
    const WeightMatrix weights = two_of_four(dense_weights(64, 128, type, 3));
    EXPECT_GT(std::ranges::count(formats_worth_trying(weights), std::string("n_m"), &Format::name), 0)
        << name_of(type);
  }
}

/// Groups and V:2:M as of two bytes; and 2:4 beside the latter, which gathers nothing.
TEST(FormatsWorthTrying, ListedColumnsOfBytes) {
  for (const DType type : {DType::i8, DType::e4m3}) {
    const SpaceProblem groups = grouped_problem(256, 256, 8, 64, type);
    EXPECT_EQ(formats_worth_trying(*groups.matrix).front(), formats::shfl_bw({.rows = 64})) << name_of(type);
    const SpaceProblem pairs = pair_problem(256, 256, 8, {64, 8}, type);
    const std::vector<Format> formats = formats_worth_trying(*pairs.matrix);
    ASSERT_GT(formats.size(), 2U);
    EXPECT_EQ(formats[0], formats::v_n_m({.rows = 64, .columns = 8})) << name_of(type);
    EXPECT_EQ(formats[1].name, "n_m") << name_of(type);
  }
}

TEST(Choice, WhatWasMeasuredStandsFirst) {
  const SpaceProblem problem = unstructured_problem(512, 512, 256);
  Record record;
  record.recipe = "default";
  record.pattern.kind = "csr";
  record.microseconds = TrialTime{5000, 5000, 5000, 1};
  record.baselines = {{"cuBLAS f32", true, 12.5, BaselineOf::library}};
  const std::vector<StoredRecord> records{{record, 2}};
  const Choice choice = chosen(problem, "sm_90a", {.records = records});
  EXPECT_EQ(choice.ways.front().recipe->name, "default");
  EXPECT_TRUE(choice.ways.front().measured);
  EXPECT_THAT(choice.text(), HasSubstr("default in csr, 5e+03 us; second sparsert"));
  EXPECT_THAT(choice.text(), HasSubstr("cuBLAS f32 12.5 us: stay dense"));
  EXPECT_EQ(choice.faster(), Faster::dense);
  record.problem.sizes = {{"M", 512}, {"K", 160}, {"N", 256}};
  const std::vector<StoredRecord> others{{record, 7}};
  try {
    chosen(problem, "sm_90a", {.records = others});
    FAIL() << "times of other weights were taken";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("records, line 7"));
    EXPECT_THAT(error.what(), HasSubstr("weights of 512 x 160"));
    EXPECT_THAT(error.what(), HasSubstr("trials of weights of 512 x 512, or none"));
  }
}

/// Sums of the instruction alone were asked for when they were measured.
TEST(Choice, RoughSumsAreNoAnswerForBeingFaster) {
  const SpaceProblem problem = unstructured_problem(512, 512, 256);
  Record record;
  record.recipe = "default";
  record.pattern.kind = "csr";
  record.microseconds = TrialTime{1, 1, 1, 1};
  record.config = {{"promote", 0}};
  const std::vector<StoredRecord> rough{{record, 2}};
  EXPECT_FALSE(chosen(problem, "sm_90a", {.records = rough}).ways.front().measured);
  record.config = {{"promote", 1}};
  const std::vector<StoredRecord> promoted{{record, 2}};
  EXPECT_TRUE(chosen(problem, "sm_90a", {.records = promoted}).ways.front().measured);
}

TEST(Choice, ARefusedWayGivesWayToTheNext) {
  const SpaceProblem problem = grouped_problem(128, 256, 64, 64);
  Choice choice = chosen(problem, "sm_90a");
  Way wrong = choice.ways.front();
  wrong.point = {{"tile_m", 64}, {"tile_n", 1024}, {"tile_k", 64}, {"stages", 8}};
  choice.ways.insert(choice.ways.begin(), wrong);
  const Schedule schedule = first_that_fits(choice, [&](const Way& way) {
    return schedule_of_way(way, problem.algorithm, *problem.matrix, nullptr, target_named("sm_90a"));
  });
  EXPECT_FALSE(schedule.steps().empty());
}

class AutoKernelOn : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, AutoKernelOn, testing::Values("cpu", "sim:sm_80"));

TEST_P(AutoKernelOn, IsRight) {
  const Device device = parse_device(GetParam());
  const Target& target = target_named(device.kind() == DeviceKind::cpu ? "cpu" : "sm_80");
  for (const SpaceProblem& problem : {unstructured_problem(64, 128, 40), grouped_problem(64, 128, 40, 32),
                                      pair_problem(64, 128, 33, {0, 4})}) {
    const AutoKernel made = auto_kernel(problem.algorithm, *problem.matrix, target, {}, {.assemble = false});
    EXPECT_EQ(made.kernel.schedule().algorithm().text(), problem.algorithm.text());
    const DType dtype = problem.matrix->values.dtype();
    const std::int64_t columns = problem.algorithm.operands[problem.algorithm.output.operand].shape[1].value;
    Array b = random_array(dtype, {128, columns}, 7, RandomValues::uniform);
    Array c(dtype, {64, columns});
    Arguments arguments;
    arguments.tensors = {{"B", &b}, {"C", &c}};
    EXPECT_TRUE(verify(made.kernel, device, arguments).passed) << made.choice.text();
    const Schedule again = auto_schedule(problem.algorithm, made.weights, target);
    EXPECT_FALSE(again.steps().empty());
  }
}

}  // namespace
}  // namespace weft
