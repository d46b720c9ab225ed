// The tree beside scikit-learn's, where Python has it.
#include <gtest/gtest.h>
#include <weft/search/model/decision_tree.h>
#include <weft/search/model/draw.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace weft {
namespace {

constexpr const char* script = R"(
import json, sys
import numpy as np
from sklearn.tree import DecisionTreeClassifier
work = json.load(open(sys.argv[1]))
x, y = np.array(work["x"]), np.array(work["y"])
answers = []
for height, leaf in work["options"]:
    tree = DecisionTreeClassifier(max_depth=height, min_samples_leaf=leaf, random_state=0).fit(x, y).tree_
    answers.append({"feature": tree.feature.tolist(), "threshold": tree.threshold.tolist(),
                    "left": tree.children_left.tolist(), "right": tree.children_right.tolist(),
                    "label": [int(v[0].argmax()) for v in tree.value]})
json.dump(answers, open(sys.argv[2], "w"))
)";

std::string python_with_sklearn() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (std::system((std::string(python) + " -c 'import sklearn' > /dev/null 2>&1").c_str()) == 0)
      return python;
  }
  return {};
}

/// Walks down both trees. Of splits that are equally good scikit-learn takes any: what lies below such a pair
/// is not compared.
struct Comparison {
  const TrainingSet& set;
  const DecisionTree& tree;
  const nlohmann::json& other;
  std::size_t equal = 0;  ///< nodes

  void compare(std::size_t ours, std::size_t theirs, const std::vector<std::size_t>& samples) {
    const DecisionTree::Node& node = tree.nodes()[ours];
    const bool leaf = other["left"][theirs].get<int>() < 0;
    ASSERT_EQ(node.feature < 0, leaf);
    if (leaf) {
      // Equally frequent labels: both take the lowest.
      EXPECT_EQ(node.ranking.front(), other["label"][theirs].get<int>());
      ++equal;
      return;
    }
    const auto feature = other["feature"][theirs].get<std::size_t>();
    const double threshold = other["threshold"][theirs].get<double>();
    const auto own = static_cast<std::size_t>(node.feature);
    if (own != feature || node.threshold != threshold) {
      EXPECT_NEAR(purity(samples, own, node.threshold), purity(samples, feature, threshold), 1e-9);
      return;
    }
    ++equal;
    std::vector<std::size_t> left, right;
    for (const std::size_t sample : samples)
      (set.sample(sample)[own] <= threshold ? left : right).push_back(sample);
    compare(static_cast<std::size_t>(node.left), other["left"][theirs].get<std::size_t>(), left);
    compare(static_cast<std::size_t>(node.right), other["right"][theirs].get<std::size_t>(), right);
  }

  /// The larger, the less Gini impurity is left.
  double purity(const std::vector<std::size_t>& samples, std::size_t feature, double threshold) const {
    std::vector<double> counts[2] = {std::vector<double>(set.classes), std::vector<double>(set.classes)};
    double sizes[2] = {0, 0};
    for (const std::size_t sample : samples) {
      const int side = set.sample(sample)[feature] <= threshold ? 0 : 1;
      ++counts[side][static_cast<std::size_t>(set.labels[sample])];
      ++sizes[side];
    }
    double sum = 0;
    for (int side = 0; side < 2; ++side) {
      for (const double count : counts[side]) sum += count * count / sizes[side];
    }
    return sum;
  }
};

TEST(DecisionTree, is_the_tree_of_scikit_learn) {
  const std::string python = python_with_sklearn();
  if (python.empty()) GTEST_SKIP() << "Python has no sklearn";
  // Features that a 32-bit float holds exactly, because scikit-learn keeps them so; no two values equal, so
  // that good splits are seldom equally good.
  Random random(2024);
  constexpr std::size_t count = 800, width = 4;
  TrainingSet set;
  set.width = width;
  set.classes = 6;
  nlohmann::json work;
  std::vector<std::vector<double>> columns(width);
  for (std::vector<double>& column : columns) {
    for (std::size_t i = 0; i < count; ++i) column.push_back(static_cast<double>(i) / 64);
    shuffle(column, random);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> sample;
    for (const std::vector<double>& column : columns) sample.push_back(column[i]);
    int label = sample[0] > 6 ? (sample[1] > 4 ? 0 : 1) : sample[2] > 9 ? 2 : sample[3] > 3 ? 3 : 4;
    if (draw_below(random, 5) == 0) label = static_cast<int>(draw_below(random, 6));
    set.features.insert(set.features.end(), sample.begin(), sample.end());
    set.labels.push_back(label);
    for (int c = 0; c < 6; ++c) set.slow_downs.push_back(c == label ? 1 : 2);
    work["x"].push_back(sample);
    work["y"].push_back(label);
  }
  const std::vector<std::pair<int, int>> options{{1, 1}, {2, 1}, {4, 4}, {8, 10}, {20, 1}};
  for (const auto& [height, leaf] : options) work["options"].push_back({height, leaf});

  std::string pattern = testing::TempDir() + "weft_sklearn_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  const std::string in = folder / "in.json", out = folder / "out.json", program = folder / "fit.py";
  std::ofstream(in) << work.dump();
  std::ofstream(program) << script;
  ASSERT_EQ(std::system((python + " " + program + " " + in + " " + out).c_str()), 0);
  std::ifstream file(out);
  const nlohmann::json answers = nlohmann::json::parse(file);
  for (std::size_t i = 0; i < options.size(); ++i) {
    TreeOptions tree_options;
    tree_options.max_height = options[i].first;
    tree_options.min_leaf = options[i].second;
    const DecisionTree tree = fit_tree(set, tree_options);
    Comparison comparison{set, tree, answers[i]};
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    comparison.compare(0, 0, all);
    EXPECT_GE(comparison.equal, std::min<std::size_t>(tree.nodes().size(), 15))
        << "height " << options[i].first;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft
