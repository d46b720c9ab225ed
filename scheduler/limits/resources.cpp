#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/limits/resources_problem.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace weft {
namespace {

using resources::Core;
using resources::Problem;
using resources::Solution;

Solution solve(const Problem& problem) {
  const Solution tried = resources::solve_by_trying(problem);
  return tried.answer == Answer::unknown ? resources::solve_by_z3(problem) : tried;
}

bool is_feasible(const Problem& problem, const KnobValues& changes) {
  return solve(problem.with(changes)).answer == Answer::feasible;
}

/// The nearest feasible value of a fixed knob below and above its own, and whether all beyond are feasible
/// too.
std::optional<Remedy> remedy_for(const Problem& problem, const std::string& knob) {
  const std::int64_t value = problem.fixed.at(knob);
  const std::vector<std::int64_t> alternatives = problem.alternatives(knob);
  for (const bool below : {true, false}) {
    std::optional<Remedy> remedy;
    for (const std::int64_t other : alternatives) {
      if ((other < value) != below) continue;
      const bool feasible = is_feasible(problem, {{knob, other}});
      if (!remedy && feasible) {
        remedy = Remedy{knob, below ? Remedy::Kind::at_most : Remedy::Kind::at_least, other};
      } else if (remedy && !feasible) {
        remedy->kind = Remedy::Kind::exactly;
        break;
      }
    }
    if (!remedy) continue;
    // "At least" of a knob without a list would speak of values that nobody tried.
    if (!below && problem.listed(knob) == nullptr) remedy->kind = Remedy::Kind::exactly;
    return remedy;
  }
  return std::nullopt;
}

/// Moves each changed knob as near to its old value as the others allow.
KnobValues tightened(const Problem& problem, KnobValues changes) {
  for (auto& [knob, value] : changes) {
    const std::int64_t distance = std::llabs(value - problem.fixed.at(knob));
    for (const std::int64_t other : problem.alternatives(knob)) {
      if (std::llabs(other - problem.fixed.at(knob)) >= distance) break;
      KnobValues nearer = changes;
      nearer[knob] = other;
      if (!is_feasible(problem, nearer)) continue;
      value = other;
      break;
    }
  }
  return changes;
}

/// By how much the constraints of the core fail together; large numbers are cut off.
double excess(const std::vector<Constraint>& core, const KnobValues& point) {
  double sum = 0;
  for (const Constraint& constraint : core) {
    const auto left = static_cast<double>(evaluate(constraint.left, point));
    const auto limit = static_cast<double>(evaluate(constraint.limit, point));
    sum += std::max(0.0, left - limit) / std::max(1.0, limit);
  }
  return sum;
}

/// Values of the open knobs that come near to holding: one knob at a time, as far as that goes.
KnobValues numbers_of(const Problem& problem, const std::vector<Constraint>& core) {
  KnobValues point = problem.fixed;
  const std::vector<ir::Knob> open = problem.open();
  for (const ir::Knob& knob : open) point[knob.name] = knob.values.front();
  for (int round = 0; round < 3; ++round) {
    for (const ir::Knob& knob : open) {
      double best = std::numeric_limits<double>::infinity();
      std::int64_t chosen = knob.values.front();
      for (const std::int64_t value : knob.values) {
        point[knob.name] = value;
        const double now = excess(core, point);
        if (now < best) chosen = value;
        best = std::min(best, now);
      }
      point[knob.name] = chosen;
    }
  }
  return point;
}

/// What clashes: found by trying where that is quick; then Z3 is asked later, about few constraints.
Clash clash_of(const Problem& problem) {
  Clash clash;
  std::optional<Core> core;
  if (resources::solve_by_trying(problem).answer == Answer::infeasible) {
    core = resources::core_by_trying(problem);
  } else {
    core = resources::core_by_z3(problem);
    clash.proved = core.has_value();
    if (!core) core = resources::core_by_trying(problem);
  }
  for (const std::size_t index : core->constraints) clash.core.push_back(problem.constraints[index]);
  for (const std::string& knob : core->fixed) clash.fixed[knob] = problem.fixed.at(knob);
  clash.numbers = numbers_of(problem, clash.core);
  return clash;
}

/// One clash after the other, each among the constraints that are in none before it.
std::vector<Clash> clashes_of(const Problem& problem) {
  std::vector<Constraint> rest = problem.constraints;
  std::vector<Clash> clashes;
  do {
    clashes.push_back(clash_of({rest, problem.knobs, problem.fixed}));
    for (const Constraint& used : clashes.back().core)
      std::erase_if(rest, [&](const Constraint& constraint) { return constraint.name == used.name; });
  } while (solve({rest, problem.knobs, problem.fixed}).answer == Answer::infeasible);
  resources::prove_by_z3(problem, clashes);
  return clashes;
}

void explain_clash(const Problem& problem, Feasibility& result) {
  result.clashes = clashes_of(problem);
  // What helps against all clashes helps against the first.
  for (const auto& [knob, value] : result.clashes.front().fixed) {
    if (auto remedy = remedy_for(problem, knob)) result.remedies.push_back(*remedy);
  }
  if (!result.remedies.empty()) {
    // One change is enough, so none with more is nearer; of these, the one that keeps most of its value.
    const auto lost = [&](const Remedy& remedy) {
      const auto old = static_cast<double>(problem.fixed.at(remedy.knob));
      return std::max(old, static_cast<double>(remedy.value)) /
             std::max(1.0, std::min(old, static_cast<double>(remedy.value)));
    };
    const auto best = std::ranges::min_element(
        result.remedies, [&](const Remedy& a, const Remedy& b) { return lost(a) < lost(b); });
    result.nearest = {{best->knob, best->value}};
    return;
  }
  result.nearest = resources::nearest_by_trying(problem);
  if (result.nearest.empty()) result.nearest = resources::nearest_by_z3(problem);
  result.nearest = tightened(problem, result.nearest);
}

Feasibility completed(const std::vector<Constraint>& constraints, const std::vector<ir::Knob>& knobs,
                      const KnobValues& fixed) {
  for (const ir::Knob& knob : knobs) {
    internal_check(!knob.values.empty(), "knob " + knob.name + " has no values");
    internal_check(*std::ranges::min_element(knob.values) >= 0, "knob " + knob.name + " below 0");
  }
  const Problem problem{constraints, knobs, fixed};
  for (const auto& [name, value] : fixed) {
    // 0 says that there is none of something, which only a knob whose list has it can mean.
    const ir::Knob* listed = problem.listed(name);
    const bool none = listed != nullptr && std::ranges::find(listed->values, 0) != listed->values.end();
    if (value < (none ? 0 : 1))
      throw UserError("a knob was given a value that it cannot have", "knob " + name, std::to_string(value),
                      "a number from 1");
  }
  Feasibility result;
  Solution solution = solve(problem);
  result.answer = solution.answer;
  result.witness = std::move(solution.witness);
  if (result.answer == Answer::infeasible) explain_clash(problem, result);
  return result;
}

}  // namespace

Feasibility complete(const std::vector<Constraint>& constraints, const std::vector<ir::Knob>& knobs,
                     const KnobValues& fixed, CallPlace place) {
  return user_call(place, [&] { return completed(constraints, knobs, fixed); });
}

void require_feasible(const ir::Program& program, const Target& target, const KnobValues& fixed,
                      CallPlace place) {
  user_call(place, [&] {
    const Feasibility result = complete(compile_constraints(program, target), program.knobs, fixed);
    if (result.answer != Answer::feasible) throw infeasible_error(result, target.name, program.name);
  });
}

}  // namespace weft
