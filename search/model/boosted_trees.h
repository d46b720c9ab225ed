// A sum of small regression trees, each grown to what those before it leave: gradient boosting of squared
// errors. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29,
// 2001.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Samples to learn from.
struct RegressionSet {
  std::size_t width = 0;             ///< numbers of a sample
  std::vector<double> numbers = {};  ///< sample by sample
  std::vector<double> targets = {};  ///< what is learnt of each sample
  std::vector<double> weights = {};  ///< how much each counts

  std::size_t size() const { return targets.size(); }
};

struct BoostingOptions {
  int trees = 300;
  int height = 4;            ///< comparisons on the longest way of a tree
  int leaves = 64;           ///< leaves of a tree, at most
  double rate = 0.07;        ///< the share of what a tree has learnt that is added
  double least_weight = 60;  ///< weights of a leaf, at least
};

class BoostedTrees {
 public:
  /// Of a tree, a parent before its children and the left one right behind it.
  struct Node {
    int feature = -1;      ///< -1: a leaf
    double threshold = 0;  ///< number <= threshold: to the left
    int right = 0;         ///< place of the right child in the tree
    double value = 0;      ///< leaves only: what the tree adds
  };
  using Tree = std::vector<Node>;

  BoostedTrees() = default;
  /// Trees that were stored. InternalError when a child does not come after its parent.
  explicit BoostedTrees(std::vector<Tree> trees);

  /// The sum of the leaves that the numbers lead to; 0 without trees.
  double value(std::span<const double> numbers) const;
  const std::vector<Tree>& trees() const { return trees_; }

 private:
  /// A node as value() walks through it: leaves lead to themselves, so that every way is as long as the
  /// longest beside it and no processor has to guess where one ends.
  struct Place {
    double threshold = 0, value = 0;
    std::uint32_t feature = 0;
    std::array<std::uint32_t, 2> next{};  ///< to the right, to the left
  };
  /// Trees that are walked through side by side, so that none waits for the places of another.
  static constexpr std::size_t together = 8;
  struct Walk {
    std::vector<std::uint32_t> roots;
    int height = 0;
  };
  void add_places(const Tree& tree);

  std::vector<Tree> trees_;
  std::vector<Place> places_;
  std::vector<Walk> walks_;
};

/// Of equally good splits the lowest number's lowest threshold is taken, so that the same samples give the
/// same trees. Thresholds have six digits and values four, so that what is stored is what was judged.
/// InternalError for a set whose lists do not fit together.
BoostedTrees fit_boosted_trees(const RegressionSet& set, const BoostingOptions& options);

}  // namespace weft
