#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/boosted_trees.h>
#include <weft/search/model/draw.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace weft {
namespace {

constexpr std::size_t most_bins = 256;

double rounded(double number, int digits) {
  return std::stod(fmt::format("{:.{}g}", number, digits));
}

/// The numbers of a set as the places of a few thresholds: a split then counts bins in place of samples.
class Bins {
 public:
  explicit Bins(const RegressionSet& set)
      : width_(set.width), thresholds_(set.width), bins_(set.numbers.size()) {
    for (std::size_t feature = 0; feature < width_; ++feature) {
      std::vector<double> values(set.size());
      for (std::size_t i = 0; i < set.size(); ++i) values[i] = set.numbers[i * width_ + feature];
      thresholds_[feature] = thresholds_between(values);
      const std::vector<double>& thresholds = thresholds_[feature];
      for (std::size_t i = 0; i < set.size(); ++i) {
        const auto place = std::ranges::lower_bound(thresholds, set.numbers[i * width_ + feature]);
        bins_[i * width_ + feature] = static_cast<std::uint8_t>(place - thresholds.begin());
      }
    }
  }

  std::size_t width() const { return width_; }
  /// A bin holds what is above the threshold before its own and at most its own.
  const std::vector<double>& thresholds(std::size_t feature) const { return thresholds_[feature]; }
  std::span<const std::uint8_t> of_sample(std::size_t sample) const {
    return std::span(bins_).subspan(sample * width_, width_);
  }

 private:
  /// Midway between neighbours; where there are many values, between those at even shares of the samples.
  static std::vector<double> thresholds_between(std::vector<double> values) {
    std::ranges::sort(values);
    std::vector<double> different = values;
    different.erase(std::ranges::unique(different).begin(), different.end());
    std::vector<double> thresholds;
    const std::size_t count = std::min(different.size(), most_bins) - 1;
    constexpr int digits = 6;
    for (std::size_t i = 1; i <= count; ++i) {
      const double from =
          different.size() <= most_bins ? different[i] : values[i * values.size() / (count + 1)];
      const auto upper = std::ranges::lower_bound(different, from);
      if (upper == different.begin()) continue;
      const double threshold = rounded((*upper + *std::prev(upper)) / 2, digits);
      // Where neighbours are nearer than the digits, they stay together.
      if (threshold < *upper && threshold >= *std::prev(upper) &&
          (thresholds.empty() || threshold > thresholds.back()))
        thresholds.push_back(threshold);
    }
    return thresholds;
  }

  std::size_t width_;
  std::vector<std::vector<double>> thresholds_;
  std::vector<std::uint8_t> bins_;
};

/// Weights, and targets times weights.
struct Sum {
  double weight = 0, target = 0;

  /// How much less the squares are when all of it takes its mean.
  double gain() const { return weight > 0 ? target * target / weight : 0; }
};

struct BinSplit {
  std::size_t feature = 0, bin = 0;
  double gain = 0;
};

class GrowingBoosted {
 public:
  GrowingBoosted(const Bins& bins, const std::vector<double>& weights, std::vector<double>& left,
                 const BoostingOptions& options)
      : bins_(bins), weights_(weights), left_(left), options_(options) {}

  /// A tree of what is left, which is then less by what the tree says. The leaf that gains most is divided
  /// next, wherever it is.
  BoostedTrees::Tree operator()() {
    std::vector<std::size_t> samples = numbers_below(left_.size());
    nodes_.clear();
    add_leaf(samples, options_.height, sums_of(samples));
    for (int leaves = 1; leaves < options_.leaves; ++leaves) {
      const auto best = std::ranges::max_element(
          nodes_, {}, [](const Growing& node) { return node.is_leaf() ? node.split.gain : 0; });
      if (!best->is_leaf() || best->split.gain <= 0) break;
      divide(static_cast<std::size_t>(best - nodes_.begin()));
    }
    tree_.clear();
    write(0);
    return tree_;
  }

 private:
  /// A node while its tree grows.
  struct Growing {
    std::span<std::size_t> samples;
    int height = 0;  ///< comparisons that may be below it
    std::vector<Sum> sums = {};
    BinSplit split = {};
    std::size_t left = 0, right = 0;

    bool is_leaf() const { return left == 0; }
  };

  std::size_t add_leaf(std::span<std::size_t> samples, int height, std::vector<Sum> sums) {
    const BinSplit split = height > 0 ? best_split(samples, sums) : BinSplit{};
    nodes_.push_back({samples, height, std::move(sums), split});
    return nodes_.size() - 1;
  }

  void divide(std::size_t number) {
    const Growing node = std::move(nodes_[number]);
    const auto goes_left = [&](std::size_t sample) {
      return bins_.of_sample(sample)[node.split.feature] <= node.split.bin;
    };
    const auto middle = std::ranges::stable_partition(node.samples, goes_left).begin() - node.samples.begin();
    const std::span<std::size_t> left = node.samples.first(static_cast<std::size_t>(middle));
    const std::span<std::size_t> right = node.samples.subspan(left.size());
    // The fewer samples are counted, the others are what is left.
    const bool counts_left = left.size() < right.size();
    std::vector<Sum> counted = sums_of(counts_left ? left : right), others = node.sums;
    for (std::size_t i = 0; i < others.size(); ++i) add(others[i], {-counted[i].weight, -counted[i].target});
    if (!counts_left) std::swap(counted, others);
    nodes_[number] = {node.samples, node.height, {}, node.split};
    const std::size_t of_left = add_leaf(left, node.height - 1, std::move(counted));
    const std::size_t of_right = add_leaf(right, node.height - 1, std::move(others));
    nodes_[number].left = of_left;
    nodes_[number].right = of_right;
  }

  /// As BoostedTrees has a tree: the left child right behind its parent.
  void write(std::size_t number) {
    const Growing& node = nodes_[number];
    const std::size_t place = tree_.size();
    tree_.emplace_back();
    if (node.is_leaf()) return make_leaf(place, node.samples);
    tree_[place].feature = static_cast<int>(node.split.feature);
    tree_[place].threshold = bins_.thresholds(node.split.feature)[node.split.bin];
    write(node.left);
    tree_[place].right = static_cast<int>(tree_.size());
    write(node.right);
  }

  /// Sums of each number's bins.
  std::vector<Sum> sums_of(std::span<const std::size_t> samples) const {
    std::vector<Sum> sums(bins_.width() * most_bins);
    for (const std::size_t sample : samples) {
      const Sum one{weights_[sample], weights_[sample] * left_[sample]};
      const std::span<const std::uint8_t> of_sample = bins_.of_sample(sample);
      for (std::size_t feature = 0; feature < of_sample.size(); ++feature)
        add(sums[feature * most_bins + of_sample[feature]], one);
    }
    return sums;
  }

  BinSplit best_split(std::span<const std::size_t> samples, const std::vector<Sum>& sums) const {
    Sum all;
    for (const std::size_t sample : samples) add(all, {weights_[sample], weights_[sample] * left_[sample]});
    BinSplit best;
    constexpr double least_gain = 1e-9;
    for (std::size_t feature = 0; feature < bins_.width(); ++feature) {
      Sum left;
      for (std::size_t bin = 0; bin < bins_.thresholds(feature).size(); ++bin) {
        add(left, sums[feature * most_bins + bin]);
        const Sum right{all.weight - left.weight, all.target - left.target};
        if (left.weight < options_.least_weight || right.weight < options_.least_weight) continue;
        const double gain = left.gain() + right.gain() - all.gain();
        if (gain > best.gain + least_gain) best = {feature, bin, gain};
      }
    }
    return best;
  }

  void make_leaf(std::size_t place, std::span<const std::size_t> samples) {
    Sum all;
    for (const std::size_t sample : samples) add(all, {weights_[sample], weights_[sample] * left_[sample]});
    constexpr int digits = 4;
    const double value = all.weight > 0 ? rounded(options_.rate * all.target / all.weight, digits) : 0;
    tree_[place].value = value;
    for (const std::size_t sample : samples) left_[sample] -= value;
  }

  static void add(Sum& to, const Sum& one) {
    to.weight += one.weight;
    to.target += one.target;
  }

  const Bins& bins_;
  const std::vector<double>& weights_;
  std::vector<double>& left_;
  const BoostingOptions& options_;
  std::vector<Growing> nodes_;
  BoostedTrees::Tree tree_;
};

}  // namespace

BoostedTrees::BoostedTrees(std::vector<Tree> trees) : trees_(std::move(trees)) {
  for (const Tree& tree : trees_) {
    internal_check(!tree.empty(), "a tree without nodes");
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const bool is_behind =
          tree[i].right > static_cast<int>(i) + 1 && tree[i].right < static_cast<int>(tree.size());
      internal_check(tree[i].feature < 0 || is_behind, "a child that does not come after its parent");
    }
    add_places(tree);
  }
  // The last ones walk beside a leaf that says nothing.
  const auto nothing = static_cast<std::uint32_t>(places_.size());
  places_.push_back({std::numeric_limits<double>::infinity(), 0, 0, {nothing, nothing}});
  for (Walk& walk : walks_) walk.roots.resize(together, nothing);
}

void BoostedTrees::add_places(const Tree& tree) {
  const auto root = static_cast<std::uint32_t>(places_.size());
  if (walks_.empty() || walks_.back().roots.size() == together) walks_.emplace_back();
  Walk& walk = walks_.back();
  walk.roots.push_back(root);
  std::vector<int> depths(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::uint32_t own = root + static_cast<std::uint32_t>(i);
    if (tree[i].feature < 0) {
      places_.push_back({std::numeric_limits<double>::infinity(), tree[i].value, 0, {own, own}});
      walk.height = std::max(walk.height, depths[i]);
      continue;
    }
    const auto right = static_cast<std::uint32_t>(tree[i].right);
    places_.push_back(
        {tree[i].threshold, 0, static_cast<std::uint32_t>(tree[i].feature), {root + right, own + 1}});
    depths[i + 1] = depths[right] = depths[i] + 1;
  }
}

double BoostedTrees::value(std::span<const double> numbers) const {
  double sum = 0;
  for (const Walk& walk : walks_) {
    std::array<std::uint32_t, together> at{};
    std::ranges::copy(walk.roots, at.begin());
    for (int i = 0; i < walk.height; ++i) {
      for (std::uint32_t& one : at) {
        const Place& place = places_[one];
        one = place.next[static_cast<std::size_t>(numbers[place.feature] <= place.threshold)];
      }
    }
    for (const std::uint32_t leaf : at) sum += places_[leaf].value;
  }
  return sum;
}

BoostedTrees fit_boosted_trees(const RegressionSet& set, const BoostingOptions& options) {
  internal_check(
      set.size() > 0 && set.numbers.size() == set.size() * set.width && set.weights.size() == set.size(),
      "samples that do not fit together");
  const Bins bins(set);
  std::vector<double> left = set.targets;
  GrowingBoosted growing(bins, set.weights, left, options);
  std::vector<BoostedTrees::Tree> trees;
  for (int i = 0; i < options.trees; ++i) trees.push_back(growing());
  return BoostedTrees(std::move(trees));
}

}  // namespace weft
