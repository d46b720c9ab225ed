// The search: points of spaces are built, verified and timed, the likeliest first, and every trial is
// remembered.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/measure/trial.h>
#include <weft/search/records/record_file.h>
#include <weft/search/trials/candidates.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct TuneOptions {
  MeasureOptions measure = {};
  Strategy strategy = Strategy::ranked;
  /// Trials of this problem, those that the file has already included.
  std::int64_t trials = 100;
  double seconds = std::numeric_limits<double>::infinity();
  KnobLimits limits = {};  ///< only these values of these knobs
  std::uint64_t seed = 1;
  int jobs = 1;  ///< kernels that are built at the same time
  bool any_architecture = false;
  /// The best may also be a record of a format that no space has: of the same weights, which the file knows.
  /// Only trials of the spaces' formats are counted and made.
  bool any_format = false;
  /// Likewise of a recipe that no space has.
  bool any_recipe = true;
  bool baselines = true;  ///< measure the dense product, too
  /// Only these recipes and configurations; empty: all that the strategy chooses from.
  std::vector<NamedPoint> only = {};
  /// What a predictor says: recipes and configurations to try first, the best first.
  std::vector<NamedPoint> predicted = {};
};

/// How far a search is.
struct TuneStatus {
  std::int64_t trials = 0;   ///< trials of the problem, in the file
  std::int64_t resumed = 0;  ///< those of them that were there before
  std::int64_t limit = 0;
  std::optional<double> best;   ///< microseconds
  std::string best_format;      ///< that its weights are packed in
  std::optional<double> dense;  ///< the time of the dense product by the same measure
  BaselineOf dense_of = BaselineOf::library;
  std::map<TrialStatus, std::int64_t> failures;
  double seconds = 0;
  std::optional<double> seconds_left;  ///< nothing before there is something to tell it from
};

struct TuneHooks {
  std::function<void(const TuneStatus&)> progress = [](const TuneStatus&) {};
  std::function<bool()> stop = [] { return false; };  ///< true: finish the trial and return
};

struct TuneResult {
  TuneStatus status;
  bool interrupted = false;
  std::optional<Record> best;
  std::string fastest;              ///< the best one's recipe and knobs, as --recipe takes them
  std::vector<Baseline> baselines;  ///< the dense product first; by the model where nothing is measured
  std::size_t points = 0;           ///< that there are to try
};

/// Tunes one problem on one target, over the formats that the spaces have: a space without one is in that of
/// the problem. Every trial is appended to `file`; a search that was stopped, by whatever, is taken up where
/// it was. What recipes choose unasked is tried first, the likeliest first, then the incumbents, the best of
/// the file for the problem most like this one, then what a predictor says, then the likeliest point of each
/// format within reach (candidates.h).
///
/// On a CUDA device call it before this process opens one: the trials' processes are copies of this one.
/// RuntimeError when there is no device; where the file cannot be written, errors as refuse_path(); UserError
/// when the device does not run the target, the measure knows nothing of it, the file is of another
/// architecture, an option is out of its range, or the problem lacks its algorithm, weights or operands;
/// InfeasibleError when no space has a point.
TuneResult tune(TrialProblem& problem, const std::vector<Space>& spaces, const Target& target,
                RecordFile& file, const TuneOptions& options, const TuneHooks& hooks = {},
                CallPlace place = {});

/// What a search would try first, by the expected times alone: for a plan. At most `count` points, of which
/// each fourth is by chance. Errors as candidates_of().
std::vector<NamedPoint> likeliest(const TrialProblem& problem, const std::vector<Space>& spaces,
                                  const Target& target, const TuneOptions& options, std::int64_t count,
                                  CallPlace place = {});

}  // namespace weft
