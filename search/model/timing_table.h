// Times of many problems with many configurations: what the predictor learns from, and is judged by.
#pragma once

#include <weft/scheduler/limits/constraint.h>
#include <weft/search/model/decision_tree.h>
#include <weft/search/model/features.h>

#include <limits>
#include <string>
#include <vector>

namespace weft {

/// A schedule of any problem, by name.
struct Configuration {
  std::string recipe;
  KnobValues point;

  /// "shfl_bw:stages=3,tile_n=256", as --recipe takes it; the recipe alone where it has no knobs.
  std::string text() const;
  auto operator<=>(const Configuration&) const = default;
};

struct TimingTable {
  struct Problem {
    std::string name;    ///< "5120x5120x4096, 10 %, V=64"
    std::string matrix;  ///< problems of the same matrix are never both learnt from and judged by
    ProblemSummary summary;
    DeviceNumbers device;
    std::string target;  ///< "sm_90a"
    FeatureValues features{};
    std::vector<double> microseconds;  ///< one a configuration; infinity where it was not measured, or failed
    int usual = -1;                    ///< the configuration that a recipe takes unasked; -1: not known

    double time(int configuration) const { return microseconds[configuration]; }
    bool measured(int configuration) const {
      return time(configuration) < std::numeric_limits<double>::infinity();
    }
    /// The time of the fastest one.
    double best() const;
    /// 0 … 1: the time of the fastest one over that of this one; 0 where it was not measured.
    double performance(int configuration) const;
  };

  std::vector<Configuration> configurations;
  std::vector<Problem> problems;

  /// A number for each problem; equal for problems of the same matrix, from 0, in the order of the problems.
  std::vector<std::size_t> matrices() const;
};

/// Features and slow-downs of the problems, with the classes of `labels` alone, renumbered in the order of
/// `classes`: configurations, each once. A configuration that a problem was not measured with counts as ten
/// times slower than the best where classes are chosen, and is marked as not tried, so that no score rests on
/// it. InternalError for a label that is none of the classes.
TrainingSet training_set(const TimingTable& table, const std::vector<std::size_t>& problems,
                         const std::vector<int>& labels, const std::vector<int>& classes);

}  // namespace weft
