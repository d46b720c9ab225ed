// Fitted times of the configurations that are worth telling apart, and beside them a decision tree that
// chooses between the same: what `weft train` makes, `weft predict` asks, and a program carries along as `if`
// statements.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/model/decision_tree.h>
#include <weft/search/model/fitted_times.h>
#include <weft/search/model/timing_table.h>

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

  DecisionTree tree;  ///< over features_of()
  FittedTimes times;  ///< likewise, of the classes
  std::vector<Configuration> classes;
  Training training;

  /// UserError, for `doing`, unless there is a tree: a predictor that was neither trained nor read has none.
  void require_tree(const char* doing) const;
  /// Numbers of classes for these features, the best first, at least one: by the fitted times; for a kind of
  /// problems that they do not know, by the tree, at most eight. UserError for a predictor that was neither
  /// trained nor read.
  std::vector<int> ranking(const FeatureValues& values, CallPlace place = {}) const;
};

/// Learns from all problems of the table. `labels` has a configuration for each of them. UserError for a
/// table without problems, or labels that do not fit it.
Predictor make_predictor(const TimingTable& table, const std::vector<int>& labels, const TreeOptions& options,
                         CallPlace place = {});

/// For people: for each kind of problems what its configurations take, and the tree, a line a comparison or
/// leaf, with score_of_leaf().
std::string text_of(const Predictor& predictor, CallPlace place = {});
/// "9 problems, 2 of which never tried it; 1.000 of the best time in the others": how much slower than the
/// best the leaf's choice is in the mean of the problems that were measured with it.
std::string score_of_leaf(const DecisionTree::Node& leaf);

/// One JSON document, and the predictor of one. UserError that names `origin`, the place in it and what is
/// wrong when it is not one, has features or nodes that do not fit together, or is of another version.
std::string json_of(const Predictor& predictor);
Predictor predictor_of(std::string_view json, const std::string& origin, CallPlace place = {});

enum class TreeLanguage : std::uint8_t { c, cpp };
/// A header that needs nothing, with a function that takes the features that the fitted times and the tree
/// ask for, sizes as integers, and returns the number of a configuration, and a function that returns the
/// text of a number. It chooses what the predictor chooses, for sizes below 2^45; features that are the same
/// in all kinds of problems are not asked for, and taken as they are there. UserError for a predictor without
/// a tree, as text_of().
std::string source_of(const Predictor& predictor, TreeLanguage language, CallPlace place = {});

/// The largest whole number whose logarithm to base 2 is at most `threshold`: sizes are compared with it in
/// emitted code.
std::int64_t largest_size(double threshold);

}  // namespace weft
