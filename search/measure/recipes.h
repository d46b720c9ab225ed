// The schedules that weft enters into a measurement, by name.
#pragma once

#include <weft/scheduler/schedule.h>
#include <weft/search/measure/workload.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {

/// A schedule of a workload. It chooses its own format. InfeasibleError or UserError where it does not fit a
/// workload: the table then has an empty cell with the reason.
using MakeSchedule = std::function<Schedule(const Workload& workload, const Target& target)>;

/// One point of a recipe's knobs.
struct RecipePoint {
  std::string name;  ///< "rows 32, threads 64, groups 8"
  MakeSchedule schedule;
};

enum class RecipeWeights : std::uint8_t { any, unstructured, grouped };

struct Recipe {
  std::string name;                ///< "default"
  MakeSchedule schedule;           ///< with the knobs that it chooses itself
  std::vector<RecipePoint> sweep;  ///< every point worth trying; empty: it has no knobs
  RecipeWeights weights = RecipeWeights::any;
  /// Of the images and results of its schedules, of a convolution; those of the workload are turned.
  ImageLayout layout = ImageLayout::nchw;

  /// Whether it enters into the measurements of a suite.
  bool is_for(const Suite& suite) const;
};

/// All of them. A new recipe is one line here.
const std::vector<Recipe>& recipes();

}  // namespace weft
