#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/decision_tree.h>
#include <weft/search/model/draw.h>

#include <cmath>

namespace weft {
namespace {

/// One feature, or several; slow-down 1 for the label, 2 for the others.
TrainingSet labelled(std::size_t width, std::vector<double> features, std::vector<int> labels,
                     std::size_t classes) {
  TrainingSet set;
  set.width = width;
  set.classes = classes;
  set.features = std::move(features);
  set.labels = std::move(labels);
  for (const int label : set.labels) {
    for (std::size_t i = 0; i < classes; ++i) set.slow_downs.push_back(static_cast<int>(i) == label ? 1 : 2);
  }
  return set;
}

TEST(DecisionTree, splits_midway_between_values) {
  const TrainingSet set = labelled(1, {1, 2, 5, 9}, {0, 0, 1, 1}, 2);
  const DecisionTree tree = fit_tree(set, {});
  ASSERT_EQ(tree.nodes().size(), 3U);
  EXPECT_EQ(tree.nodes()[0].threshold, 3.5);
  EXPECT_EQ(tree.predict(std::vector<double>{3.5}), 0);
  EXPECT_EQ(tree.predict(std::vector<double>{3.6}), 1);
  EXPECT_EQ(tree.height(), 1);
  EXPECT_EQ(tree.leaves(), 2U);
}

TEST(DecisionTree, takes_the_lowest_feature_and_threshold_of_equals) {
  // Both features split perfectly; and of three equal values in a row the first boundary wins.
  const TrainingSet set = labelled(2, {1, 10, 2, 20, 3, 30, 4, 40}, {0, 0, 1, 1}, 2);
  EXPECT_EQ(fit_tree(set, {}).nodes()[0].feature, 0);
  const TrainingSet three = labelled(1, {1, 2, 3}, {0, 1, 0}, 2);
  EXPECT_EQ(fit_tree(three, {}).nodes()[0].threshold, 1.5);
}

TEST(DecisionTree, leaves_take_the_class_that_loses_least) {
  // Class 0 is the most frequent label, and is ten times slower where it is not.
  TrainingSet set = labelled(1, {1, 1, 1}, {0, 0, 1}, 2);
  set.slow_downs = {1, 1.1, 1, 1.1, 10, 1};
  const DecisionTree tree = fit_tree(set, {});
  EXPECT_EQ(tree.predict(std::vector<double>{1}), 1);
  EXPECT_NEAR(tree.nodes()[0].slow_down, 3.2 / 3, 1e-12);
  EXPECT_EQ(tree.ranking(std::vector<double>{1}), (std::vector<int>{1, 0}));
}

TEST(DecisionTree, keeps_height_and_least_leaf) {
  Random random(3);
  std::vector<double> features;
  std::vector<int> labels;
  for (int i = 0; i < 300; ++i) {
    for (int f = 0; f < 3; ++f) features.push_back(random.uniform());
    labels.push_back(static_cast<int>(draw_below(random, 5)));
  }
  const TrainingSet set = labelled(3, features, labels, 5);
  for (const int height : {0, 1, 2, 4, 8}) {
    for (const double leaf : {1.0, 4.0, 0.1}) {
      for (const SplitBy by : {SplitBy::gini, SplitBy::slow_down}) {
        const DecisionTree tree = fit_tree(set, {.max_height = height, .min_leaf = leaf, .split_by = by});
        EXPECT_LE(tree.height(), height);
        std::size_t samples = 0;
        for (const DecisionTree::Node& node : tree.nodes()) {
          if (node.feature >= 0) continue;
          EXPECT_GE(static_cast<double>(node.samples), leaf < 1 ? 30 : leaf);
          samples += node.samples;
        }
        EXPECT_EQ(samples, 300U);
      }
    }
  }
  // Without limits every sample has its own class.
  const DecisionTree whole = fit_tree(set, {});
  for (std::size_t i = 0; i < set.size(); ++i) EXPECT_EQ(whole.predict(set.sample(i)), set.labels[i]);
}

TEST(DecisionTree, splitting_by_slow_down_saves_what_matters) {
  // Gini sees the frequent harmless difference (feature 0); what costs is the rare one (feature 1).
  TrainingSet set;
  set.width = 2;
  set.classes = 2;
  for (int i = 0; i < 20; ++i) {
    const bool frequent = i % 2 == 0, rare = i >= 18;
    set.features.insert(set.features.end(), {frequent ? 0.0 : 1.0, rare ? 1.0 : 0.0});
    set.labels.push_back(rare || !frequent ? 1 : 0);
    const double loss = rare ? 9 : 1.001;
    set.slow_downs.push_back(set.labels.back() == 0 ? 1 : loss);
    set.slow_downs.push_back(set.labels.back() == 1 ? 1 : rare ? 9 : 3);
  }
  EXPECT_EQ(fit_tree(set, {.max_height = 1}).nodes()[0].feature, 0);
  const DecisionTree tree = fit_tree(set, {.max_height = 1, .split_by = SplitBy::slow_down});
  double lost = 0;
  for (std::size_t i = 0; i < set.size(); ++i)
    lost += set.slow_down(i, static_cast<std::size_t>(tree.predict(set.sample(i))));
  const DecisionTree by_gini = fit_tree(set, {.max_height = 1});
  double lost_by_gini = 0;
  for (std::size_t i = 0; i < set.size(); ++i)
    lost_by_gini += set.slow_down(i, static_cast<std::size_t>(by_gini.predict(set.sample(i))));
  EXPECT_LE(lost, lost_by_gini);
}

TEST(DecisionTree, importance_sums_up_to_one) {
  const TrainingSet set = labelled(2, {1, 7, 2, 7, 3, 7, 4, 7}, {0, 0, 1, 1}, 2);
  EXPECT_EQ(fit_tree(set, {}).importance(2), (std::vector<double>{1, 0}));
  EXPECT_EQ(fit_tree(set, {.max_height = 0}).importance(2), (std::vector<double>{0, 0}));
}

TEST(DecisionTree, refuses_nothing_and_broken_nodes) {
  EXPECT_THROW(fit_tree(TrainingSet(), {}), UserError);
  DecisionTree::Node node;
  node.feature = 0;
  node.left = node.right = 0;
  EXPECT_THROW(DecisionTree({node}), InternalError);
}

}  // namespace
}  // namespace weft
