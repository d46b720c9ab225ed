// A decision tree with the configurations that it chooses between: what `weft train` makes, `weft predict`
// asks, and a program carries along as `if` statements. A random forest over the same configurations may
// stand beside it.
#pragma once

#include <weft/search/model/decision_tree.h>
#include <weft/search/model/forest.h>
#include <weft/search/model/timing_table.h>

#include <optional>
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

  /// Configurations for these features, the best first: at least one; of the tree at most eight.
  std::vector<const Configuration*> ranking(const FeatureValues& values) const;
  /// The same by the forest, which there has to be.
  std::vector<const Configuration*> ranking_by_forest(const FeatureValues& values) const;
};

/// Learns from all problems of the table. `labels` has a configuration for each of them. Without a forest
/// where `forest` is null.
Predictor make_predictor(const TimingTable& table, const std::vector<int>& labels, const TreeOptions& options,
                         const ForestOptions* forest = nullptr);

/// The tree for people: a line a comparison or leaf, with the samples of the leaf and how much slower than
/// the best they are in the mean.
std::string text_of(const Predictor& predictor);

/// One JSON document, and the predictor of one. UserError that names `origin` and what is wrong when it is
/// not one, has features or nodes that do not fit together, or comes from a later version.
std::string json_of(const Predictor& predictor);
Predictor predictor_of(std::string_view json, const std::string& origin);

enum class TreeLanguage : std::uint8_t { c, cpp };
/// A header that needs nothing, with a function that takes the features that the tree asks for, sizes as
/// integers, and returns the number of a configuration, and a function that returns the text of a number. It
/// chooses what the predictor chooses, for sizes below 2^53.
std::string source_of(const Predictor& predictor, TreeLanguage language);

/// The largest whole number whose logarithm to base 2 is at most `threshold`: sizes are compared with it in
/// emitted code.
std::int64_t largest_size(double threshold);

}  // namespace weft
