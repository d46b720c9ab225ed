// What there is to choose from for one problem on one target: a recipe, or a schedule of the user's, with
// named, finite knobs, and the conditions under which its points can run.
//
//   SpaceProblem problem{algorithm, matrix, formats::shfl_bw({.rows = 64})};
//   Space space = space_of("shfl_bw", problem, target_named("sm_90a"));
//   Points points = space.feasible();
//   Kernel kernel = compile(space.schedule(points[0]));
//
// A user's own, of a schedule with knobs:
//
//   Schedule s = schedule(linear, weights, target);
//   s.tile(m = knob("tile_m", {4, 8}), n = knob("tile_n", {64, 128, 256})).bind(m.outer, block_y);
//   Space space = space_of(s);
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// How the name begins that a space of a user's schedule has in place of a recipe's. The rest is a hash of
/// its steps, so that trials of another schedule are none of its own.
inline constexpr std::string_view recipe_of_schedules = "schedule_";

/// Points of a space: values in the order of its knobs, those of the last knob changing fastest.
class Points {
 public:
  explicit Points(std::vector<std::string> knobs) : knobs_(std::move(knobs)) {}

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// By name, as Space::schedule and records take it.
  KnobValues operator[](std::size_t index) const;
  /// In the order of the knobs.
  std::span<const std::int64_t> values(std::size_t index) const {
    return std::span(values_).subspan(index * knobs_.size(), knobs_.size());
  }
  void add(std::span<const std::int64_t> values);

 private:
  std::vector<std::string> knobs_;
  std::vector<std::int64_t> values_;
  std::size_t count_ = 0;
};

/// Bytes that a thread spills at a point worth trying, at most; at other feasible ones eight times as much.
inline constexpr std::int64_t most_expected_spill = 4096;

/// Immutable; threads may share one. Recipe and knob values together say what a kernel is: both go into a
/// record, and space_of(recipe, …).schedule(values) makes it again.
class Space {
 public:
  /// What the points of a recipe are made from.
  struct Parts {
    std::string recipe;  ///< "shfl_bw"; "schedule_0123456789abcdef" for a user's own
    std::string target;
    Format format = {};  ///< that of the weights; without a name: the problem's
    std::vector<ir::Knob> knobs;
    std::vector<Constraint> constraints;
    std::vector<Constraint> preferences;
    std::function<Schedule(const KnobValues&)> schedule;
    std::function<std::optional<KnobValues>()> usual = {};  ///< empty: not known
    std::vector<RecipeKnob> words = {};  ///< how the recipe's knobs are written, where they are no numbers
    bool has_unasked = false;            ///< whether `schedule` makes one of a point without knobs
  };
  /// InternalError when two knobs have one name or one has no values; UserError for conditions about none.
  explicit Space(Parts all);

  const std::string& recipe() const { return parts_->recipe; }
  const std::string& target() const { return parts_->target; }
  /// What the weights are packed in, and a point may narrow. Without a name where that is not known.
  const Format& format() const { return parts_->format; }
  /// Where a knob can be 0, that says that there is none of what it counts.
  const std::vector<ir::Knob>& knobs() const { return parts_->knobs; }
  /// Without any of them a point cannot be built or launched, or its registers are far too few. With all of
  /// them a thread spills at most some KB (most_expected_spill).
  const std::vector<Constraint>& constraints() const { return parts_->constraints; }
  /// A point that breaks one runs, but is not worth trying: most of the device would idle, it spills, or it
  /// takes minutes to compile. "expected registers" is the one that ptxas corrects.
  const std::vector<Constraint>& preferences() const { return parts_->preferences; }

  /// Points, feasible or not.
  std::int64_t size() const;
  /// Those at which all constraints hold.
  Points feasible() const;
  /// Those of them at which all preferences hold too; the feasible ones where none does.
  Points worth_trying() const;
  /// The point of the recipe unasked. Without knobs where the recipe makes something that no values of knobs
  /// say, or that breaks a constraint; nothing where it makes nothing of its own.
  std::optional<KnobValues> usual() const;
  /// Whether this is the point without knobs, which leaves all of them to the recipe.
  bool is_unasked(const KnobValues& point) const { return point.empty() && parts_->has_unasked; }
  /// The first constraint that does not hold, or null. UserError for values that are not the space's knobs.
  const Constraint* violated(const KnobValues& point, CallPlace place = {}) const;
  /// Whether the rest can be chosen once these are fixed, with a witness; where not, which constraints clash
  /// (scheduler/limits/resources.h). UserError for a knob that the space lacks, with the nearest name.
  Feasibility complete(const KnobValues& fixed, CallPlace place = {}) const;

  /// The schedule of a point. UserError for values that are not the space's knobs, and as the recipe throws
  /// it, which it does at no feasible point.
  Schedule schedule(const KnobValues& point, CallPlace place = {}) const;
  /// "shfl_bw:tile_m=64,tile_n=256,stages=4": what --recipe takes. Of a user's schedule "tile_m=4,tile_n=64".
  std::string text(const KnobValues& point, CallPlace place = {}) const;
  /// The value of a knob that is written "256" or "baked". UserError that lists names or values.
  std::int64_t value_of(const std::string& knob, std::string_view word, CallPlace place = {}) const;
  /// "256" or "baked".
  std::string word_of(const std::string& knob, std::int64_t value) const;

 private:
  void require_point(const KnobValues& point) const;

  std::shared_ptr<const Parts> parts_;
};

/// The space of a recipe, by name: default, cpu_rows, cpu_code, cpu_groups, cpu_blocks, sparsert, shfl_bw,
/// v_n_m or hb_ell. UserError that lists the recipes when there is none of that name, and, saying why and
/// which have one, where the recipe leaves the problem or the target to the default schedule; for a problem
/// without an algorithm or weights, too.
Space space_of(const std::string& recipe, const SpaceProblem& problem, const Target& target,
               const SpaceOptions& options = {}, CallPlace place = {});

/// The spaces of all recipes that have one for the problem, the likeliest first. UserError for a problem
/// without an algorithm or weights.
std::vector<Space> spaces_for(const SpaceProblem& problem, const Target& target,
                              const SpaceOptions& options = {}, CallPlace place = {});
/// Those of every format in place of the problem's own, as formats_worth_trying() lists them.
std::vector<Space> spaces_for(const SpaceProblem& problem, std::span<const Format> formats,
                              const Target& target, const SpaceOptions& options = {}, CallPlace place = {});
/// The number of the space of a recipe and a format, which are as a record has them; the last one where the
/// format is empty. Nothing where there is none.
std::optional<std::size_t> number_of_space(const std::vector<Space>& spaces, std::string_view recipe,
                                           std::string_view format);

/// The space of a schedule with knobs: its points are the schedule with values in their place. The conditions
/// are those of the target (resource_constraints.h).
Space space_of(const Schedule& schedule, const SpaceOptions& options = {}, CallPlace place = {});

}  // namespace weft
