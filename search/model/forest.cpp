#include <weft/search/model/draw.h>
#include <weft/search/model/forest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {

RandomForest::RandomForest(const TrainingSet& set, const ForestOptions& options)
    : classes_(set.classes), width_(set.width) {
  Random random(options.seed);
  TreeOptions tree = options.tree;
  tree.features_of_split =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(set.width))));
  for (int i = 0; i < options.trees; ++i) {
    std::vector<std::size_t> drawn(set.size());
    for (std::size_t& sample : drawn) sample = draw_below(random, set.size());
    tree.seed = random.bits();
    trees_.push_back(fit_tree(set, tree, std::move(drawn)));
  }
}

RandomForest::RandomForest(std::vector<DecisionTree> trees, std::size_t classes, std::size_t width)
    : classes_(classes), width_(width), trees_(std::move(trees)) {}

std::vector<int> RandomForest::ranking(std::span<const double> features) const {
  std::vector<int> votes(classes_);
  for (const DecisionTree& tree : trees_) ++votes[static_cast<std::size_t>(tree.predict(features))];
  std::vector<int> ranked;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    if (votes[i] > 0) ranked.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(ranked, std::greater<>(),
                           [&](int i) { return votes[static_cast<std::size_t>(i)]; });
  return ranked;
}

std::vector<double> RandomForest::importance() const {
  std::vector<double> shares(width_);
  for (const DecisionTree& tree : trees_) {
    const std::vector<double> of_tree = tree.importance(width_);
    for (std::size_t i = 0; i < width_; ++i) shares[i] += of_tree[i] / static_cast<double>(trees_.size());
  }
  return shares;
}

}  // namespace weft
