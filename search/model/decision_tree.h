// A classification tree: which class suits a problem, by comparisons of its features with thresholds.
//
// Grown as scikit-learn's DecisionTreeClassifier grows it (best split first in each node, Gini impurity,
// thresholds midway between neighbouring values, `<=` to the left), so that it can be compared with it; but a
// leaf takes the class with which its samples lose the least time, not the most frequent one. Breiman,
// Friedman, Olshen, Stone, "Classification and Regression Trees", 1984; heights and leaves as in STuning-DL,
// section V.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft {

/// Samples to learn from.
struct TrainingSet {
  std::size_t width = 0;         ///< features of a sample
  std::size_t classes = 0;       ///< numbered from 0
  std::vector<double> features;  ///< sample by sample
  std::vector<int> labels;       ///< the class of each sample
  /// Sample by sample, for every class: its time over that of the fastest one, at least 1. What was not
  /// tried has a number too, for choosing among classes.
  std::vector<double> slow_downs;
  std::vector<bool> tried = {};  ///< likewise: whether the slow-down is a measured one; empty: all are

  std::size_t size() const { return labels.size(); }
  std::span<const double> sample(std::size_t index) const {
    return std::span(features).subspan(index * width, width);
  }
  double slow_down(std::size_t index, std::size_t of_class) const {
    return slow_downs[index * classes + of_class];
  }
  bool was_tried(std::size_t index, std::size_t of_class) const {
    return tried.empty() || tried[index * classes + of_class];
  }
};

/// What a split is chosen by.
enum class SplitBy : std::uint8_t {
  gini,       ///< the largest decrease of Gini impurity of the labels
  slow_down,  ///< the least total slow-down, each side taking its best class
};

struct TreeOptions {
  static constexpr int unlimited = std::numeric_limits<int>::max();
  int max_height = unlimited;  ///< comparisons on the longest way
  double min_leaf = 1;         ///< samples of a leaf, from 1 on; below 1: the share of all samples
  SplitBy split_by = SplitBy::gini;
};

class DecisionTree {
 public:
  struct Node {
    int feature = -1;      ///< -1: a leaf
    double threshold = 0;  ///< feature <= threshold: to the left
    int left = -1, right = -1;
    std::size_t samples = 0;
    double decrease = 0;      ///< how much less there is of what splits are chosen by, weighted by samples
    double slow_down = 0;     ///< mean of the node's best class, over the samples that tried it; 0: none did
    std::size_t untried = 0;  ///< samples that did not
    /// Classes by their total slow-down over the samples, the best first; at most eight. Leaves only.
    std::vector<int> ranking;
  };

  DecisionTree() = default;
  /// A tree that was stored. InternalError when a node's children do not come after it.
  explicit DecisionTree(std::vector<Node> nodes);

  /// Number of the leaf's node. UserError for a tree without nodes.
  std::size_t leaf_of(std::span<const double> features) const;
  int predict(std::span<const double> features) const { return nodes_[leaf_of(features)].ranking.front(); }
  /// The leaf's classes, the best first: where the best one cannot run, the next may.
  const std::vector<int>& ranking(std::span<const double> features) const {
    return nodes_[leaf_of(features)].ranking;
  }

  /// The root first, children after their parent.
  const std::vector<Node>& nodes() const { return nodes_; }
  int height() const;
  std::size_t leaves() const;
  /// The share of each feature in the decrease that all splits made; sums up to 1, or all 0 without splits.
  std::vector<double> importance(std::size_t width) const;

 private:
  std::vector<Node> nodes_;
};

/// Of equally good splits the lowest feature's lowest threshold is taken, of equally good classes the
/// lowest, so that the same samples give the same tree everywhere. UserError for an empty set.
DecisionTree fit_tree(const TrainingSet& set, const TreeOptions& options);

}  // namespace weft
