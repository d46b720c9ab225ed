// How well a predictor would have done on matrices that it had not seen.
#pragma once

#include <weft/search/model/fitted_times.h>
#include <weft/search/model/timing_table.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Where the classes come from.
struct Labelling {
  bool normalised = true;   ///< Algorithm 1; else every fastest configuration is a class
  double threshold = 0.98;  ///< Algorithm 1's, and `Score::close`'s

  /// A label for each problem of the table.
  std::vector<int> operator()(const TimingTable& table) const;
};

/// Predictions judged by what was measured. Performance is the fastest time over that of the prediction.
struct Score {
  double accuracy = 0;  ///< share of problems given exactly their class
  double close = 0;     ///< share of problems that reach the labelling's threshold
  double mean = 0;      ///< performance
  double worst = 0;
  std::string worst_problem;
  std::size_t untried = 0;  ///< problems that were not measured with the prediction: 0 in mean and worst
  std::vector<double> performance;  ///< that of each problem of the table
  std::vector<int> predicted;       ///< configuration of each problem of the table
};

/// The score of predictions for all problems. A configuration that a problem was not measured with has
/// performance 0.
Score score_of(const TimingTable& table, const std::vector<int>& predicted, const std::vector<int>& labels,
               double threshold);

struct ValidationOptions {
  Labelling labelling;
  /// Into how many parts the matrices are dealt, each judged by what the others taught, so that one is none;
  /// 0, or more than there are matrices: every matrix by all others.
  std::size_t folds = 0;
  std::uint64_t seed = 1;  ///< chooses how they are dealt, where there are fewer parts than matrices
};

/// Labels are made once, from all problems, as in the paper; the slow-downs and splits that a model learns
/// come from the other parts alone, and so do the classes that it may choose from. Where the prediction was
/// not measured for the problem, the next of the ranking is taken, as `weft predict` goes on to a schedule
/// that fits.
Score validate_tree(const TimingTable& table, const TreeOptions& tree, const ValidationOptions& options);
/// Fitted times, and for a kind of problems that has none the tree, as a predictor ranks.
Score validate_times(const TimingTable& table, const TreeOptions& tree, const ValidationOptions& options);
/// The configuration whose analytic bound is least, of those that were measured. It learns nothing.
Score score_bound(const TimingTable& table, const Labelling& labelling);
/// The one configuration that does best on the other parts.
Score validate_single(const TimingTable& table, const ValidationOptions& options);
/// What recipes choose unasked; nothing where that is not known of every problem.
std::optional<Score> score_usual(const TimingTable& table, const Labelling& labelling);

/// How fitted times tell apart all configurations of a problem, and not only those worth choosing.
struct OrderScore {
  double correlation = 0;  ///< Spearman's, of fitted and measured times within a problem, the mean
  double least_correlation = 0;
  /// Of twenty configurations drawn by chance for each problem, the time of the fastest over that of the one
  /// that is expected to be: the mean.
  double of_twenty = 0;
  double worst_of_twenty = 0;
};
/// By matrices dealt into three parts with `seed`, each judged by what the other two taught.
OrderScore validate_order(const TimingTable& table, std::uint64_t seed = 1);

/// A tree's options and how it did.
struct GridPoint {
  TreeOptions tree;
  Score score;
};
/// Every height of {1, 2, 4, 8, unlimited} with every leaf of {1, 2, 4, 8, 0.1, 0.2} and both kinds of split.
/// `heights` and `leaves` replace them where they are not empty.
std::vector<GridPoint> validate_grid(const TimingTable& table, const ValidationOptions& options,
                                     std::vector<int> heights = {}, std::vector<double> leaves = {});
/// The smallest tree whose mean is within half a percent of the best one's: least height, then largest leaf,
/// then best mean.
const GridPoint& smallest_good(const std::vector<GridPoint>& grid);

/// A point of the learning curve, means over several drawings.
struct LearningPoint {
  std::size_t problems = 0;  ///< learnt from
  double training_accuracy = 0;
  double accuracy = 0;  ///< on matrices that were not learnt from
  double mean = 0;      ///< performance on them
};
/// With 10, 20, 40, 60 and 80 % of the matrices, judged by the rest.
std::vector<LearningPoint> learning_curve(const TimingTable& table, const TreeOptions& tree,
                                          const ValidationOptions& options, int drawings = 8);

}  // namespace weft
