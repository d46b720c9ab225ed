#include <weft/dsl/errors.h>
#include <weft/search/model/decision_tree.h>
#include <weft/search/model/draw.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace weft {
namespace {

constexpr std::size_t ranked_classes = 8;
/// Differences that rounding makes are none.
constexpr double least_gain_of_sample = 1e-12;

struct FeatureSplit {
  std::size_t feature = 0;
  double threshold = 0;
  double score = 0;  ///< larger is better
};

/// Scores a split while samples move from the right to the left, one after the other.
class Gini {
 public:
  Gini(const TrainingSet& set, std::span<const std::size_t> samples)
      : set_(set), left_(set.classes), right_(set.classes) {
    for (const std::size_t sample : samples) ++right_[label(sample)];
    right_size_ = static_cast<double>(samples.size());
    for (const double count : right_) right_squares_ += count * count;
    whole_ = right_squares_ / right_size_;
  }
  void move(std::size_t sample) {
    double& left = left_[label(sample)];
    double& right = right_[label(sample)];
    left_squares_ += 2 * left + 1;
    right_squares_ -= 2 * right - 1;
    left += 1;
    right -= 1;
    left_size_ += 1;
    right_size_ -= 1;
  }
  /// The decrease of impurity, times the samples.
  double score() const { return left_squares_ / left_size_ + right_squares_ / right_size_ - whole_; }
  static constexpr bool may_be_zero = true;

 private:
  std::size_t label(std::size_t sample) const { return static_cast<std::size_t>(set_.labels[sample]); }

  const TrainingSet& set_;
  std::vector<double> left_, right_;
  double left_size_ = 0, right_size_ = 0;
  double left_squares_ = 0, right_squares_ = 0;
  double whole_ = 0;
};

class SlowDown {
 public:
  SlowDown(const TrainingSet& set, std::span<const std::size_t> samples)
      : set_(set), left_(set.classes), all_(set.classes) {
    for (const std::size_t sample : samples) add(all_, sample);
    whole_ = *std::ranges::min_element(all_);
  }
  void move(std::size_t sample) { add(left_, sample); }
  double score() const {
    double left = left_.front(), right = all_.front() - left_.front();
    for (std::size_t i = 1; i < left_.size(); ++i) {
      left = std::min(left, left_[i]);
      right = std::min(right, all_[i] - left_[i]);
    }
    return whole_ - left - right;
  }
  static constexpr bool may_be_zero = false;

 private:
  void add(std::vector<double>& sums, std::size_t sample) const {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += set_.slow_down(sample, i);
  }

  const TrainingSet& set_;
  std::vector<double> left_, all_;
  double whole_ = 0;
};

class GrowingDecisions {
 public:
  GrowingDecisions(const TrainingSet& set, const TreeOptions& options)
      : set_(set), options_(options), samples_(numbers_below(set.size())) {
    const auto count = static_cast<double>(samples_.size());
    least_ = static_cast<std::size_t>(
        std::max(1.0, options.min_leaf < 1 ? std::ceil(options.min_leaf * count) : options.min_leaf));
  }

  DecisionTree operator()() {
    grow(0, samples_.size(), 0);
    return DecisionTree(std::move(nodes_));
  }

 private:
  std::span<std::size_t> range(std::size_t begin, std::size_t end) {
    return std::span(samples_).subspan(begin, end - begin);
  }

  int grow(std::size_t begin, std::size_t end, int height) {
    const auto number = static_cast<int>(nodes_.size());
    nodes_.push_back(leaf(range(begin, end)));
    if (height >= options_.max_height || is_pure(range(begin, end)) || end - begin < 2 * least_)
      return number;
    const auto split = options_.split_by == SplitBy::gini ? best_split<Gini>(range(begin, end))
                                                          : best_split<SlowDown>(range(begin, end));
    if (!split) return number;
    const auto part = range(begin, end);
    const auto middle = std::stable_partition(part.begin(), part.end(), [&](std::size_t sample) {
      return set_.sample(sample)[split->feature] <= split->threshold;
    });
    const std::size_t cut = begin + static_cast<std::size_t>(middle - part.begin());
    const int left = grow(begin, cut, height + 1);
    const int right = grow(cut, end, height + 1);
    DecisionTree::Node& node = nodes_[number];
    node.feature = static_cast<int>(split->feature);
    node.threshold = split->threshold;
    node.left = left;
    node.right = right;
    node.decrease = split->score;
    node.ranking.clear();
    return number;
  }

  bool is_pure(std::span<const std::size_t> samples) const {
    return std::ranges::all_of(
        samples, [&](std::size_t sample) { return set_.labels[sample] == set_.labels[samples.front()]; });
  }

  DecisionTree::Node leaf(std::span<const std::size_t> samples) const {
    std::vector<double> sums(set_.classes);
    for (const std::size_t sample : samples) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += set_.slow_down(sample, i);
    }
    DecisionTree::Node node;
    node.samples = samples.size();
    node.ranking.resize(sums.size());
    std::iota(node.ranking.begin(), node.ranking.end(), 0);
    std::ranges::stable_sort(node.ranking, {}, [&](int i) { return sums[i]; });
    score(node, samples);
    if (node.ranking.size() > ranked_classes) node.ranking.resize(ranked_classes);
    return node;
  }

  /// By measured times alone: what stands for those of others is an invention.
  void score(DecisionTree::Node& node, std::span<const std::size_t> samples) const {
    const auto best = static_cast<std::size_t>(node.ranking.front());
    for (const std::size_t sample : samples) {
      if (!set_.was_tried(sample, best))
        ++node.untried;
      else
        node.slow_down += set_.slow_down(sample, best);
    }
    const std::size_t tried = samples.size() - node.untried;
    if (tried > 0) node.slow_down /= static_cast<double>(tried);
  }

  template <class Scorer>
  std::optional<FeatureSplit> best_split(std::span<const std::size_t> samples) {
    const Scorer fresh(set_, samples);
    std::optional<FeatureSplit> best;
    for (std::size_t feature = 0; feature < set_.width; ++feature) try_feature(fresh, feature, samples, best);
    return best;
  }

  template <class Scorer>
  void try_feature(Scorer scorer, std::size_t feature, std::span<const std::size_t> samples,
                   std::optional<FeatureSplit>& best) {
    order_.assign(samples.begin(), samples.end());
    const auto value = [&](std::size_t sample) { return set_.sample(sample)[feature]; };
    std::ranges::stable_sort(order_, {}, value);
    if (value(order_.front()) == value(order_.back())) return;
    for (std::size_t i = 0; i + 1 < order_.size(); ++i) {
      scorer.move(order_[i]);
      const double here = value(order_[i]), next = value(order_[i + 1]);
      if (here == next || i + 1 < least_ || order_.size() - i - 1 < least_) continue;
      const double score = scorer.score();
      const double margin = least_gain_of_sample * static_cast<double>(order_.size());
      if (best ? score <= best->score + margin : !Scorer::may_be_zero && score <= margin) continue;
      double threshold = here / 2 + next / 2;
      // Two neighbouring numbers have nothing between them.
      if (threshold >= next) threshold = here;
      best = FeatureSplit{feature, threshold, score};
    }
  }

  const TrainingSet& set_;
  const TreeOptions& options_;
  std::vector<std::size_t> samples_;
  std::size_t least_ = 1;
  std::vector<std::size_t> order_;
  std::vector<DecisionTree::Node> nodes_;
};

}  // namespace

DecisionTree::DecisionTree(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  internal_check(!nodes_.empty(), "a tree without nodes");
  const auto size = static_cast<int>(nodes_.size());
  for (int i = 0; i < size; ++i) {
    const Node& node = nodes_[i];
    const auto follows = [&](int child) { return child > i && child < size; };
    internal_check(node.feature < 0 ? !node.ranking.empty() : follows(node.left) && follows(node.right),
                   "a tree's node without its children, or a leaf without a class");
  }
}

std::size_t DecisionTree::leaf_of(std::span<const double> features) const {
  if (nodes_.empty())
    throw UserError("a tree has nothing to say", "DecisionTree", "no nodes", "one of fit_tree()");
  std::size_t place = 0;
  while (nodes_[place].feature >= 0) {
    const Node& node = nodes_[place];
    const bool left = features[node.feature] <= node.threshold;
    place = static_cast<std::size_t>(left ? node.left : node.right);
  }
  return place;
}

int DecisionTree::height() const {
  std::vector<int> heights(nodes_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].feature < 0) continue;
    heights[i] = 1 + std::max(heights[nodes_[i].left], heights[nodes_[i].right]);
  }
  return heights.empty() ? 0 : heights.front();
}

std::size_t DecisionTree::leaves() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [](const Node& node) { return node.feature < 0; }));
}

std::vector<double> DecisionTree::importance(std::size_t width) const {
  std::vector<double> shares(width);
  double sum = 0;
  for (const Node& node : nodes_) {
    if (node.feature < 0) continue;
    shares[node.feature] += node.decrease;
    sum += node.decrease;
  }
  if (sum > 0) {
    for (double& share : shares) share /= sum;
  }
  return shares;
}

DecisionTree fit_tree(const TrainingSet& set, const TreeOptions& options) {
  if (set.size() == 0 || set.classes == 0)
    throw UserError("a tree cannot be grown", "TrainingSet", set.size() == 0 ? "no samples" : "no classes",
                    "at least one of each");
  return GrowingDecisions(set, options)();
}

}  // namespace weft
