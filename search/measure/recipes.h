// The schedules that weft enters into a measurement, by name.
#pragma once

#include <weft/scheduler/program/schedule.h>
#include <weft/search/measure/workload.h>
#include <weft/search/spaces/space.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {

/// A schedule of a workload. It chooses its own format. InfeasibleError or UserError where it does not fit a
/// workload: the table then has an empty cell with the reason.
using MakeSchedule = std::function<Schedule(const Workload& workload, const Target& target)>;

enum class RecipeWeights : std::uint8_t { any, unstructured, grouped, patterned };

struct Recipe {
  std::string name;       ///< "default"; also that of its space
  MakeSchedule schedule;  ///< with the knobs that it chooses itself
  RecipeWeights weights = RecipeWeights::any;
  /// The layout of the images and results of its schedules, of a convolution; those of the workload are
  /// turned.
  ImageLayout layout = ImageLayout::nchw;
  bool on_tensor_cores = false;  ///< takes f16 and bf16 alone

  /// Whether it enters into the measurements of a suite.
  bool is_for(const Suite& suite) const;
};

/// All of them. A new recipe is one line here.
const std::vector<Recipe>& recipes();

/// The workload as spaces see it: weights in groups as shfl_bw, of a pattern as n_m or v_n_m, others as csr;
/// images as `layout` says.
SpaceProblem space_problem(const Workload& workload, ImageLayout layout = ImageLayout::nchw);

/// One point of a recipe's knobs.
struct RecipePoint {
  std::string name;  ///< Space::text of it
  MakeSchedule schedule;
};

/// The points of the recipe that are worth trying on the workload; none where it has no knobs or no space.
std::vector<RecipePoint> points_worth_trying(const Recipe& recipe, const Workload& workload,
                                             const Target& target);

}  // namespace weft
