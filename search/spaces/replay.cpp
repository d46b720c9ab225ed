#include <fmt/format.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/points.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/program/step_arguments.h>
#include <weft/search/spaces/replay.h>

#include <algorithm>
#include <map>
#include <utility>

namespace weft {
namespace {

constexpr std::int64_t most_replays = 4096;

/// Whether a step needs a number for the knob: where that is one of its own, or says how long a loop is whose
/// length decides whether the step applies.
bool needs_number(const Schedule& schedule, std::size_t index, const std::string& knob) {
  const Step& step = schedule.steps()[index];
  const std::vector<std::string> own = replayed_knobs(step);
  if (std::ranges::find(own, knob) != own.end()) return true;
  const StepArguments arguments(step_kind(step.name), step);
  return std::ranges::any_of(arguments.kind().parameters, [&](const Parameter& parameter) {
    if (!parameter.by_extent) return false;
    const auto loops = find_loops(schedule.history()[index].body, arguments.text(parameter.name));
    return std::ranges::any_of(loops, [&](const ir::For* loop) { return ir::uses(loop->extent, knob); });
  });
}

std::vector<ir::Knob> replayed_knobs_of(const Schedule& schedule) {
  std::vector<ir::Knob> knobs = schedule.program().knobs;
  std::erase_if(knobs, [&](const ir::Knob& knob) {
    for (std::size_t i = 0; i < schedule.steps().size(); ++i) {
      if (needs_number(schedule, i, knob.name)) return false;
    }
    return true;
  });
  return knobs;
}

/// Values of an expression by the choices at which it has them; at others it is 0.
class Choices {
 public:
  void add(const Expr& chosen, const Expr& value) { values_.emplace_back(chosen, value); }
  /// `all`: how many choices there are.
  Expr expr(std::size_t all) const {
    const Expr& first = values_.front().second;
    const bool alike =
        std::ranges::all_of(values_, [&](const auto& each) { return ir::same(each.second, first); });
    if (alike && values_.size() == all) return first;
    Expr result = 0;
    for (const auto& [chosen, value] : values_) result = ir::select(chosen, value, result);
    return result;
  }

 private:
  std::vector<std::pair<Expr, Expr>> values_;
};

/// One condition, at all choices.
struct Condition {
  Constraint constraint;
  Choices left, limit;
  std::map<std::string, Choices> parts;
};

class Conditions {
 public:
  Conditions(const Schedule& schedule, std::int64_t resident_blocks)
      : schedule_(schedule), resident_blocks_(resident_blocks) {}

  void add(const KnobValues& values) {
    ++choices_;
    Expr chosen = ir::boolean(true);
    for (const auto& [name, value] : values) chosen = chosen && ir::equal(ir::variable(name), value);
    Schedule again(schedule_.algorithm(), schedule_.shared_weights(), schedule_.target());
    for (const Step& step : schedule_.steps()) {
      const auto reason = again.try_apply(with_values(step, values));
      if (!reason) continue;
      const std::string name = fmt::format("step {}", again.steps().size() + 1);
      add({name, fmt::format("{} applies, and is refused at {}", step.cpp(), reason->found), {}, 1, 0, {}},
          chosen);
      return;
    }
    for (const Constraint& each : resource_constraints(again.program(), schedule_.target(), resident_blocks_))
      add(each, chosen);
  }

  std::vector<Constraint> all() const {
    std::vector<Constraint> result;
    for (const Condition& each : conditions_) {
      Constraint constraint = each.constraint;
      constraint.left = each.left.expr(choices_);
      constraint.limit = each.limit.expr(choices_);
      constraint.parts.clear();
      for (const auto& [name, part] : each.parts) constraint.parts.emplace_back(name, part.expr(choices_));
      result.push_back(std::move(constraint));
    }
    return result;
  }

 private:
  void add(const Constraint& constraint, const Expr& chosen) {
    auto found = std::ranges::find(conditions_, constraint.name,
                                   [](const Condition& each) { return each.constraint.name; });
    if (found == conditions_.end()) found = conditions_.insert(found, {constraint, {}, {}, {}});
    found->left.add(chosen, constraint.left);
    found->limit.add(chosen, constraint.limit);
    for (const auto& [name, part] : constraint.parts) found->parts[name].add(chosen, part);
  }

  const Schedule& schedule_;
  std::int64_t resident_blocks_;
  std::size_t choices_ = 0;
  std::vector<Condition> conditions_;
};

}  // namespace

std::vector<Constraint> constraints_of(const Schedule& schedule, std::int64_t resident_blocks) {
  const std::vector<ir::Knob> knobs = replayed_knobs_of(schedule);
  if (knobs.empty()) return resource_constraints(schedule.program(), schedule.target(), resident_blocks);
  std::int64_t choices = 1;
  for (const ir::Knob& knob : knobs) {
    choices *= std::min<std::int64_t>(most_replays + 1, std::ssize(knob.values));
    if (choices > most_replays)
      throw UserError("a schedule has too many open numbers", schedule.algorithm().name,
                      fmt::format("more than {} choices of those that change what steps make", most_replays),
                      "fewer values of them: knob(\"depth\", {2, 4})");
  }
  Conditions conditions(schedule, resident_blocks);
  for_each_point({}, knobs, SIZE_MAX, [&](std::span<const std::int64_t> point) {
    KnobValues values;
    for (std::size_t i = 0; i < knobs.size(); ++i) values[knobs[i].name] = point[i];
    conditions.add(values);
    return true;
  });
  return conditions.all();
}

}  // namespace weft
