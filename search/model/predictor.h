// A decision tree with the configurations that it chooses between: what `weft train` makes, `weft predict`
// asks, and a program carries along as `if` statements. A random forest over the same configurations may
// stand beside it.
#pragma once

#include <weft/search/model/decision_tree.h>
#include <weft/search/model/forest.h>
#include <weft/search/model/timing_table.h>

#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Predictor {
  /// What it was made from, and how it did on matrices that it had not seen.
  struct Training {
    std::size_t problems = 0;
    std::size_t matrices = 0;
    std::vector<std::string> targets;  ///< whose times it learnt from: "sm_90a"
    TreeOptions options;
    bool normalised = true;
    double threshold = 0.98;
    double accuracy = 0, mean = 0, worst = 0;  ///< validation.h; 0 where it was not validated
  };

  /// How a forest did, which stands beside the tree.
  struct Forest {
    RandomForest trees;  ///< over features_of()
    double accuracy = 0, mean = 0, worst = 0;
  };

  DecisionTree tree;  ///< over features_of()
  std::optional<Forest> forest;
  std::vector<Configuration> classes;
  Training training;

  /// UserError, for `doing`, unless there is a tree: a predictor that was neither trained nor read has none.
  void require_tree(const char* doing) const;
  /// Configurations for these features, the best first: at least one; of the tree at most eight.
  /// UserError for a predictor that was neither trained nor read.
  std::vector<const Configuration*> ranking(
      const FeatureValues& values, std::source_location place = std::source_location::current()) const;
  /// The same by the forest. UserError where there is none.
  std::vector<const Configuration*> ranking_by_forest(
      const FeatureValues& values, std::source_location place = std::source_location::current()) const;
};

/// Learns from all problems of the table. `labels` has a configuration for each of them. Without a forest
/// where `forest` is null. UserError for a table without problems, or labels that do not fit it.
Predictor make_predictor(const TimingTable& table, const std::vector<int>& labels, const TreeOptions& options,
                         const ForestOptions* forest = nullptr,
                         std::source_location place = std::source_location::current());

/// The tree for people: a line a comparison or leaf, with score_of_leaf().
std::string text_of(const Predictor& predictor, std::source_location place = std::source_location::current());
/// "9 problems, 2 of which never tried it; 1.000 of the best time in the others": how much slower than the
/// best the leaf's choice is in the mean of the problems that were measured with it.
std::string score_of_leaf(const DecisionTree::Node& leaf);

/// One JSON document, and the predictor of one. UserError that names `origin`, the place in it and what is
/// wrong when it is not one, has features or nodes that do not fit together, or is of another version.
std::string json_of(const Predictor& predictor);
Predictor predictor_of(std::string_view json, const std::string& origin,
                       std::source_location place = std::source_location::current());

enum class TreeLanguage : std::uint8_t { c, cpp };
/// A header that needs nothing, with a function that takes the features that the tree asks for, sizes as
/// integers, and returns the number of a configuration, and a function that returns the text of a number. It
/// chooses what the predictor chooses, for sizes below 2^53. UserError for a predictor without a tree, as
/// text_of().
std::string source_of(const Predictor& predictor, TreeLanguage language,
                      std::source_location place = std::source_location::current());

/// The largest whole number whose logarithm to base 2 is at most `threshold`: sizes are compared with it in
/// emitted code.
std::int64_t largest_size(double threshold);

}  // namespace weft
