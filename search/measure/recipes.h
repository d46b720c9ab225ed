// The schedules that weft enters into a measurement, by name.
#pragma once

#include <weft/scheduler/program/schedule.h>
#include <weft/search/measure/workload.h>
#include <weft/search/spaces/space.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// A schedule of a workload. It chooses its own format. InfeasibleError or UserError where it does not fit a
/// workload: the table then has an empty cell with the reason.
using MakeSchedule = std::function<Schedule(const Workload& workload, const Target& target)>;

enum class RecipeWeights : std::uint8_t { any, unstructured, grouped, patterned };

/// A recipe with a format, as it enters into a measurement.
struct MeasuredRecipe {
  std::string name;         ///< "hb_ell_every"
  std::string recipe = {};  ///< in the list of recipes; empty: of the same name
  std::string format = {};  ///< empty: what the workload's weights were pruned for
  RecipeWeights weights = RecipeWeights::any;
  /// The layout of the images and results of its schedules, of a convolution; those of the workload are
  /// turned.
  ImageLayout layout = ImageLayout::nchw;
  bool on_tensor_cores = false;  ///< takes f16 and bf16 alone
  bool of_products = false;      ///< takes no convolutions
  bool of_gpus = false;          ///< takes no CPU
  std::optional<Capability> needs = {};
  std::string misfit = {};  ///< what is said of other workloads and targets
  std::string accepted = {};
  bool overlaps = false;  ///< launches begin before the one in front has ended, where the target can do that

  /// Whether it enters into the measurements of a suite.
  bool is_for(const Suite& suite) const;
  /// What it is called among contestants: "weft hb_ell_every", "weft v_n_m overlapped".
  std::string title() const;
  /// The schedule with the knobs that the recipe chooses itself.
  Schedule schedule(const Workload& workload, const Target& target) const;
};

/// All of them. A new one is one line here.
const std::vector<MeasuredRecipe>& measured_recipes();

/// The workload as spaces see it: weights in groups as shfl_bw, of a pattern as n_m or v_n_m, others as csr;
/// images as `layout` says.
SpaceProblem space_problem(const Workload& workload, ImageLayout layout = ImageLayout::nchw);

/// One point of a recipe's knobs.
struct RecipePoint {
  std::string name;  ///< Space::text of it
  MakeSchedule schedule;
};

/// The points of the recipe that are worth trying on the workload; none where it has no knobs or no space.
std::vector<RecipePoint> points_worth_trying(const MeasuredRecipe& recipe, const Workload& workload,
                                             const Target& target);

}  // namespace weft
