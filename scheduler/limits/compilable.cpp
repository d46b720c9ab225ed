#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/compilable.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/program/other_steps.h>

#include <algorithm>
#include <functional>
#include <set>

namespace weft {
namespace {

/// Schedules that are made to find a change: each costs about what the schedule itself did, so of large
/// programs fewer are made.
constexpr std::int64_t most_tries = 64, least_tries = 2;
constexpr std::int64_t most_statements = 1 << 16;  ///< statements of all tries together
constexpr std::size_t most_remedies = 2;
/// Up to which every smaller number is tried; of larger ones, halves.
constexpr std::int64_t dense_numbers = 16;
constexpr std::int64_t largest_number = 1 << 20;
constexpr std::int64_t largest_divisor = 64;

/// Whether the limits hold: all, or those of the names.
bool is_feasible(const ir::Program& program, const Target& target,
                 const std::set<std::string>* names = nullptr) {
  std::vector<Constraint> constraints = compile_constraints(program, target);
  if (names != nullptr)
    std::erase_if(constraints,
                  [&](const Constraint& constraint) { return !names->contains(constraint.name); });
  if (program.knobs.empty()) return first_violation(constraints, {}) == nullptr;
  return complete(constraints, program.knobs, {}).answer == Answer::feasible;
}

/// The step with the first value of each of its open numbers.
Step closed(Step step) {
  for (Argument& argument : step.arguments) {
    if (const auto* choice = std::get_if<KnobChoice>(&argument.value)) {
      const std::int64_t value = choice->values.front();
      argument.value = value;
    }
  }
  return step;
}

void require_no_knobs(const Schedule& schedule) {
  if (schedule.program().knobs.empty()) return;
  std::vector<std::string> open;
  std::string where, example;
  for (std::size_t i = 0; i < schedule.steps().size(); ++i) {
    const Step& step = schedule.steps()[i];
    for (const Argument& argument : step.arguments) {
      const auto* choice = std::get_if<KnobChoice>(&argument.value);
      if (choice == nullptr) continue;
      open.push_back(fmt::format("{} in {}", choice->name, with_place(step)));
      if (!where.empty()) continue;
      where = fmt::format("{}, step {} of the schedule", schedule.algorithm().name, i + 1);
      example = closed(step).cpp();
    }
  }
  throw UserError("a schedule with open numbers cannot be compiled", where,
                  fmt::format("open: {}", fmt::join(open, ", ")),
                  fmt::format("a number for each, as in {}; a search gives them numbers by itself", example));
}

/// Numbers to try in place of one, nearest first in each direction.
std::vector<std::int64_t> smaller_numbers(std::int64_t number) {
  std::vector<std::int64_t> list;
  for (std::int64_t each = number; each > 1;)
    list.push_back(each = each <= dense_numbers ? each - 1 : each / 2);
  return list;
}

std::vector<std::int64_t> larger_numbers(std::int64_t number) {
  std::vector<std::int64_t> list;
  for (std::int64_t each = 2 * number; each <= largest_number && list.size() < 6; each *= 2)
    list.push_back(each);
  return list;
}

/// Looks for single numbers of the schedule which, changed, make it fit.
class Remedies {
 public:
  /// `clashes` are those of the whole schedule. Limits that are exceeded on the way to it do not count.
  Remedies(const Schedule& schedule, const Target& target, const std::vector<Clash>& clashes)
      : schedule_(schedule), target_(target) {
    std::set<std::string> exceeded;
    for (const Clash& clash : clashes) {
      for (const Constraint& constraint : clash.core) exceeded.insert(constraint.name);
    }
    const std::vector<ir::Program>& history = schedule.history();
    std::int64_t statements = 1;
    ir::visit(history.back().body, [&](const ir::Stmt&) { ++statements; });
    tries_left_ = tries_together_ = std::clamp(most_statements / statements, least_tries, most_tries);
    first_ = history.size() - 1;
    while (first_ > 0 && !is_feasible(history[first_ - 1], target, &exceeded)) --first_;
  }

  /// The number of the step since which a limit is exceeded; 0: no step's fault.
  std::size_t first() const { return first_; }

  std::vector<std::string> operator()() {
    // What was done last before the limit was exceeded is most likely what was meant otherwise.
    for (std::size_t back = 0; back < first_; ++back) change_numbers_of(first_ - 1 - back);
    for (std::size_t later = first_; later < schedule_.steps().size(); ++later) change_numbers_of(later);
    if (found_.empty()) change_numbers_together();
    if (found_.empty()) make_tiles_smaller();
    tries_left_ = std::max<std::int64_t>(tries_left_, 1);
    if (found_.empty() && first_ > 0 && fits(first_ - 1, nullptr))
      found_.push_back("a schedule without " + with_place(schedule_.steps()[first_ - 1]));
    return std::move(found_);
  }

 private:
  void change_numbers_of(std::size_t index) {
    const Step& step = schedule_.steps()[index];
    for (std::size_t i = 0; i < step.arguments.size(); ++i) {
      const auto* number = std::get_if<std::int64_t>(&step.arguments[i].value);
      if (number == nullptr || found_.size() >= most_remedies) continue;
      if (!try_numbers(index, i, smaller_numbers(*number))) try_numbers(index, i, larger_numbers(*number));
    }
  }

  bool try_numbers(std::size_t index, std::size_t argument, const std::vector<std::int64_t>& numbers) {
    for (const std::int64_t number : numbers) {
      Step changed = schedule_.steps()[index];
      changed.arguments[argument].value = number;
      if (!fits(index, &changed)) continue;
      found_.push_back(fmt::format("{} in place of {}", changed.cpp(), with_place(schedule_.steps()[index])));
      return true;
    }
    return false;
  }

  /// Whether all steps apply, and fit, with `changed` in place of one; null: without it.
  bool fits(std::size_t index, const Step* changed) {
    if (tries_left_-- <= 0) return false;
    try {
      Schedule tried = before(index);
      if (changed != nullptr && tried.try_apply(*changed)) return false;
      for (std::size_t i = index + 1; i < schedule_.steps().size(); ++i) {
        if (tried.try_apply(schedule_.steps()[i])) return false;
      }
      return is_feasible(tried.program(), target_);
    } catch (const UserError&) {
      return false;
    }
  }

  /// Numbers that have one name and value, as depths of copies at one loop have, where no single one may
  /// change.
  void change_numbers_together() {
    std::set<std::pair<std::string, std::int64_t>> all;
    for (const Step& step : schedule_.steps()) {
      for (const Argument& argument : step.arguments) {
        const auto* number = std::get_if<std::int64_t>(&argument.value);
        if (number != nullptr && step.name != "split" && step.name != "tile")
          all.emplace(argument.name, *number);
      }
    }
    for (const auto& [name, value] : all) {
      for (const std::int64_t number : smaller_numbers(value)) {
        if (found_.empty() && tries_together_-- > 0)
          try_changed([&, &of = name, old = value](const Step&, Argument& argument) {
            const auto* given = std::get_if<std::int64_t>(&argument.value);
            if (argument.name == of && given != nullptr && *given == old) argument.value = number;
          });
      }
    }
  }

  /// Every factor of a split divided by the same number, where no single one is enough.
  void make_tiles_smaller() {
    for (std::int64_t divisor = 2; divisor <= largest_divisor && found_.empty(); divisor *= 2) {
      try_changed([&](const Step& step, Argument& argument) {
        auto* number = std::get_if<std::int64_t>(&argument.value);
        if (number != nullptr && (step.name == "split" || step.name == "tile"))
          *number = std::max<std::int64_t>(1, *number / divisor);
      });
    }
  }

  /// All steps with their arguments changed: found where they apply and fit.
  void try_changed(const std::function<void(const Step&, Argument&)>& change) {
    std::vector<std::string> changes;
    try {
      Schedule tried = before(0);
      bool applies = true;
      for (const Step& step : schedule_.steps()) {
        Step changed = step;
        for (Argument& argument : changed.arguments) change(step, argument);
        if (changed.cpp() != step.cpp())
          changes.push_back(fmt::format("{} in place of {}", changed.cpp(), with_place(step)));
        applies = applies && !tried.try_apply(changed);
      }
      if (applies && is_feasible(tried.program(), target_))
        found_.push_back(fmt::format("{}", fmt::join(changes, ", together with ")));
    } catch (const UserError&) {
      return;
    }
  }

  /// The schedule with the steps before that one.
  const Schedule& before(std::size_t index) {
    if (prefixes_.empty())
      prefixes_.emplace_back(schedule_.algorithm(), schedule_.shared_weights(), schedule_.target());
    while (prefixes_.size() <= index) {
      Schedule next = prefixes_.back();
      next.apply(schedule_.steps()[prefixes_.size() - 1]);
      prefixes_.push_back(std::move(next));
    }
    return prefixes_[index];
  }

  const Schedule& schedule_;
  const Target& target_;
  std::size_t first_ = 0;
  std::vector<Schedule> prefixes_;  ///< the first without steps
  std::vector<std::string> found_;
  std::int64_t tries_left_ = 0, tries_together_ = 0;
};

/// What is left where no number helps: steps that are taken back, and targets that have room.
std::string other_ways(const Schedule& schedule, const Target& target) {
  std::vector<std::string> ways;
  std::size_t kept = schedule.steps().size();
  while (kept > 0 && !is_feasible(schedule.history()[kept], target)) --kept;
  if (kept > 0) ways.push_back(fmt::format("the first {} steps alone", kept));
  std::vector<std::string> names;
  for (const Target& other : targets()) {
    if (target.is_gpu() && other.is_gpu() && !is_simulated_only(other) &&
        is_feasible(schedule.program(), other))
      names.push_back(other.name);
  }
  if (!names.empty()) ways.push_back(fmt::format("a target with more room: {}", fmt::join(names, ", ")));
  if (ways.empty())
    ways.push_back("another order of loops, or smaller factors of those that tiles are made of");
  return fmt::format("{}", fmt::join(ways, ", or "));
}

void require_room(const Schedule& schedule, const Target& target) {
  const ir::Program& program = schedule.program();
  const Feasibility feasibility = complete(compile_constraints(program, target), program.knobs, {});
  if (feasibility.answer == Answer::feasible) return;
  Remedies remedies(schedule, target, feasibility.clashes);
  std::string where = program.name;
  if (const std::size_t number = remedies.first(); number > 0) {
    const Step& step = schedule.steps()[number - 1];
    where = fmt::format("{} since step {} of the schedule, {}", program.name, number, with_place(step));
  }
  UserError::Report report = infeasible_error(feasibility, target.name, where).report();
  const std::vector<std::string> changes = remedies();
  report.accepted =
      changes.empty() ? other_ways(schedule, target) : fmt::format("{}", fmt::join(changes, ", or "));
  throw InfeasibleError(std::move(report));
}

}  // namespace

void require_compilable(const Schedule& schedule, const Target& target, CallPlace place) {
  user_call(place, [&] {
    require_no_knobs(schedule);
    require_room(schedule, target);
  });
}

}  // namespace weft
