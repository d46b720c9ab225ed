// Many trees of samples and features drawn by chance, which vote: what a single tree is compared with.
#pragma once

#include <weft/search/model/decision_tree.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct ForestOptions {
  int trees = 100;
  TreeOptions tree = {};
  std::uint64_t seed = 1;
};

/// Breiman, "Random Forests", Machine Learning 45, 2001: every tree of as many samples as there are, drawn
/// with repetition, every split of the square root of the features.
class RandomForest {
 public:
  RandomForest(const TrainingSet& set, const ForestOptions& options);
  /// A forest that was stored: trees over `width` features, leaves of `classes`.
  RandomForest(std::vector<DecisionTree> trees, std::size_t classes, std::size_t width);

  /// The classes that have votes, those with the most first, of as many the lowest.
  std::vector<int> ranking(std::span<const double> features) const;
  int predict(std::span<const double> features) const { return ranking(features).front(); }
  const std::vector<DecisionTree>& trees() const { return trees_; }
  /// Mean over the trees.
  std::vector<double> importance() const;

 private:
  std::size_t classes_;
  std::size_t width_;
  std::vector<DecisionTree> trees_;
};

}  // namespace weft
