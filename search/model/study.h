// Everything that is asked of a predictor before it is trusted, from one table of times: the figures of
// STuning-DL, section V (tables 5 to 7, figures 9 to 11), for our own measurements.
#pragma once

#include <weft/search/model/predictor.h>
#include <weft/search/model/validation.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {

/// One model, judged on matrices that it had not seen.
struct StudyLine {
  /// "decision tree", "fitted times", "analytic bound", "best single", "recipe's choice"
  std::string model;
  bool learns = true;
  bool normalised = true;   ///< whether the classes that it learns are
  std::size_t classes = 0;  ///< labels that occur
  TreeOptions tree = {};    ///< options of the decision tree
  Score score;
  /// The paper's "highest impact of misclassification": the worst performance among the problems of each M,
  /// averaged over M.
  double impact = 0;
};

struct StudyOptions {
  ValidationOptions validation;
  /// Given heights and leaves; where both are empty the grid of validate_grid().
  std::vector<int> heights = {};
  std::vector<double> leaves = {};
};

struct Study {
  std::size_t problems = 0, matrices = 0, configurations = 0;
  std::vector<StudyLine> lines;  ///< the first one is the tree that was chosen
  TreeOptions chosen = {};
  std::vector<double> importance;  ///< what features are to the tree, in the order of features()
  OrderScore order;                ///< how the fitted times tell configurations apart
  std::vector<LearningPoint> curve;
  double times_nanoseconds = 0;  ///< what a decision takes, features included
  double tree_nanoseconds = 0;
  double bound_nanoseconds = 0;  ///< what the bound of one configuration takes
};

/// `progress`, where given, hears what is being done. UserError for fewer than two matrices.
Study study(const TimingTable& table, const StudyOptions& options,
            const std::function<void(const std::string&)>& progress = {});

/// For people; one JSON document.
std::string text_of(const Study& study);
std::string json_of(const Study& study);

/// "4, 1" or "unlimited, 0.1": height and least leaf.
std::string text_of(const TreeOptions& options);

}  // namespace weft
