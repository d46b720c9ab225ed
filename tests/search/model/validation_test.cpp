#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/classes.h>
#include <weft/search/model/rank_correlation.h>
#include <weft/search/model/recorded_times.h>
#include <weft/search/model/validation.h>

#include "made_times.h"

namespace weft {
namespace {

TEST(Validation, learns_a_rule_and_beats_the_best_single_configuration) {
  const TimingTable table = made_times(60, 0.01, 5);
  const ValidationOptions options;
  const Score tree = validate_tree(table, {}, options);
  const Score single = validate_single(table, options);
  EXPECT_GT(tree.mean, 0.97);
  EXPECT_GT(tree.mean, single.mean + 0.05);
  EXPECT_GT(tree.accuracy, 0.7);
  EXPECT_GE(tree.close, tree.accuracy - 1e-9);
  EXPECT_LE(tree.worst, tree.mean);
  EXPECT_EQ(tree.performance.size(), table.problems.size());
  EXPECT_FALSE(tree.worst_problem.empty());
  ASSERT_TRUE(score_usual(table, {}).has_value());
  EXPECT_LT(score_usual(table, {})->mean, tree.mean);
}

TEST(Validation, never_learns_from_the_matrix_that_it_judges) {
  // A feature that tells matrices apart, and times that follow from nothing but the matrix: whoever had seen
  // another width of it would know.
  TimingTable table = made_times(40, 0, 9);
  const std::vector<std::size_t> matrices = table.matrices();
  Random random(1);
  std::vector<std::size_t> fastest;
  for (int i = 0; i < 40; ++i) fastest.push_back(draw_below(random, table.configurations.size()));
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    TimingTable::Problem& problem = table.problems[i];
    problem.features = {};
    problem.features[3] = static_cast<double>(matrices[i] * 7919 % 40);
    for (std::size_t c = 0; c < problem.microseconds.size(); ++c)
      problem.microseconds[c] = c == fastest[matrices[i]] ? 1 : 2;
  }
  EXPECT_LT(validate_tree(table, {}, {}).accuracy, 0.4);
  // The same without the rule: every problem a matrix of its own.
  for (std::size_t i = 0; i < table.problems.size(); ++i) table.problems[i].matrix = std::to_string(i);
  EXPECT_GT(validate_tree(table, {}, {}).accuracy, 0.9);
}

TEST(Validation, normalising_means_fewer_classes_and_better_accuracy) {
  const TimingTable table = made_times(60, 0.02, 7);
  Labelling raw;
  raw.normalised = false;
  EXPECT_LE(distinct(Labelling()(table)).size(), distinct(raw(table)).size());
  const Score with = validate_tree(table, {}, {});
  ValidationOptions options;
  options.labelling = raw;
  EXPECT_GE(with.accuracy, validate_tree(table, {}, options).accuracy);
}

TEST(Validation, fitted_times_are_judged_by_the_same_parts) {
  const TimingTable table = tiled_times(60, 0.01);
  ValidationOptions options;
  options.folds = 5;
  const Score times = validate_times(table, {}, options);
  EXPECT_GT(times.mean, 0.99);
  EXPECT_GT(times.mean, validate_tree(table, {}, options).mean);
  EXPECT_GT(times.mean, validate_single(table, options).mean);
  EXPECT_EQ(validate_times(table, {}, options).predicted, times.predicted);
  EXPECT_GT(score_bound(table, {}).mean, 0);
  const OrderScore order = validate_order(table);
  EXPECT_GT(order.correlation, 0.9);
  EXPECT_GE(order.correlation, order.least_correlation);
  EXPECT_GT(order.of_twenty, 0.97);
  EXPECT_GE(order.of_twenty, order.worst_of_twenty);
}

TEST(Validation, a_kind_without_fits_is_left_to_the_tree) {
  // Fewer problems of a kind than a fit has parts.
  const TimingTable table = made_times(12, 0.01, 3);
  EXPECT_TRUE(FittedTimes(table, numbers_below(table.problems.size()), {0, 1}).fits().empty());
  EXPECT_EQ(validate_times(table, {}, {}).predicted, validate_tree(table, {}, {}).predicted);
}

TEST(RankCorrelation, is_of_the_order_alone) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {10, 11, 500}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {3, 2, 1}), -1);
  EXPECT_EQ(rank_correlation({1, 1, 1}, {3, 2, 1}), 0);
  EXPECT_EQ(ranks({5, 5, 1}), (std::vector<double>{1.5, 1.5, 0}));
}

TEST(Validation, what_nothing_else_can_judge_is_refused) {
  const auto refusal = [](std::size_t matrices, std::size_t folds) -> std::string {
    ValidationOptions options;
    options.folds = folds;
    try {
      validate_tree(made_times(matrices, 0, 3), {}, options);
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_NE(refusal(1, 0).find("two or more"), std::string::npos) << refusal(1, 0);
  EXPECT_NE(refusal(6, 1).find("2 to 6, or 0"), std::string::npos) << refusal(6, 1);
  EXPECT_EQ(refusal(6, 2), "none");
}

TEST(Validation, a_prediction_that_was_not_measured_gives_way_to_the_next) {
  TimingTable table = made_times(20, 0, 3);
  // Nobody measured what the last problem's leaf would choose.
  const Score before = validate_tree(table, {}, {});
  const std::size_t last = table.problems.size() - 1;
  table.problems[last].microseconds[static_cast<std::size_t>(before.predicted[last])] =
      std::numeric_limits<double>::infinity();
  const Score after = validate_tree(table, {}, {});
  EXPECT_NE(after.predicted[last], before.predicted[last]);
  EXPECT_GT(after.performance[last], 0);
}

TEST(Validation, the_grid_gives_the_smallest_good_tree) {
  const TimingTable table = made_times(25, 0.01, 4);
  const std::vector<GridPoint> grid = validate_grid(table, {}, {1, 4, TreeOptions::unlimited}, {1, 4});
  EXPECT_EQ(grid.size(), 12U);
  const GridPoint& chosen = smallest_good(grid);
  double best = 0;
  for (const GridPoint& point : grid) best = std::max(best, point.score.mean);
  EXPECT_GE(chosen.score.mean, 0.99 * best);
  for (const GridPoint& point : grid) {
    if (point.tree.max_height < chosen.tree.max_height) {
      EXPECT_LT(point.score.mean, 0.99 * best);
    }
  }
}

TEST(Validation, the_learning_curve_rises) {
  const TimingTable table = made_times(60, 0.01, 8);
  const std::vector<LearningPoint> curve = learning_curve(table, {}, {});
  ASSERT_EQ(curve.size(), 5U);
  EXPECT_LT(curve.front().problems, curve.back().problems);
  EXPECT_LT(curve.front().accuracy, curve.back().accuracy);
  EXPECT_LT(curve.front().mean, curve.back().mean);
  EXPECT_GE(curve.front().training_accuracy, curve.front().accuracy);
}

Record record_of_trial(std::int64_t n, std::int64_t tile, double time) {
  Record record;
  record.kernel = "spmm";
  record.recipe = "shfl_bw";
  record.config = {{"tile_n", tile}};
  record.problem.sizes = {{"M", 256}, {"K", 512}, {"N", n}};
  record.problem.words = {{"dtype", "f16"}};
  record.pattern = {.kind = "shfl_bw:V=64",
                    .group = 64,
                    .stored = 13107,
                    .hash = "xxh3:1",
                    .row_mean = 51.2,
                    .row_variation = 0.1};
  record.target = {.name = "sm_90a", .gpu = "NVIDIA H200", .multiprocessors = 132, .shared_bytes = 232448};
  record.measure = "gpu";
  record.microseconds = TrialTime{time, time, time, 5};
  return record;
}

TEST(RecordedTimes, problems_and_configurations_of_records) {
  std::vector<Record> records{record_of_trial(64, 64, 3), record_of_trial(64, 128, 4),
                              record_of_trial(128, 128, 5), record_of_trial(64, 64, 2.5)};
  records[1].strategy = "recipe";
  records.push_back(record_of_trial(64, 256, 1));
  records.back().status = TrialStatus::correctness;
  records.push_back(record_of_trial(64, 512, 1));
  records.back().measure = "model";
  EXPECT_EQ(best_measure(records), "gpu");
  const TimingTable table = timing_table(records, "gpu");
  ASSERT_EQ(table.configurations.size(), 2U);
  ASSERT_EQ(table.problems.size(), 2U);
  EXPECT_EQ(table.problems[0].microseconds, (std::vector<double>{2.5, 4}));
  EXPECT_EQ(table.problems[0].usual, 1);
  EXPECT_FALSE(table.problems[1].measured(0));
  EXPECT_EQ(table.problems[1].time(1), 5);
  EXPECT_EQ(table.problems[0].matrix, table.problems[1].matrix);
  EXPECT_EQ(table.problems[0].summary.group_rows, 64);
  EXPECT_EQ(table.problems[0].features[4], 64);
  EXPECT_DOUBLE_EQ(table.problems[0].features[1], 6);
  EXPECT_EQ(table.problems[0].features[11], 132);
  EXPECT_EQ(table.configurations[0].text(), "shfl_bw:tile_n=64");
}

TEST(RecordedTimes, refuses_records_without_sizes) {
  Record record = record_of_trial(64, 64, 3);
  record.problem.sizes.erase("N");
  EXPECT_THROW(summary_of(record), UserError);
  record = record_of_trial(64, 64, 3);
  record.problem.words["dtype"] = "f12";
  EXPECT_THROW(summary_of(record), UserError);
}

}  // namespace
}  // namespace weft
