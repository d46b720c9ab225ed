// Answers by trying values.
#include <weft/scheduler/points.h>
#include <weft/scheduler/resources_problem.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace weft::resources {
namespace {

/// Points and partial points that one question may cost: well under a second.
constexpr std::size_t effort = std::size_t{1} << 20;
/// Longest list of numbers tried for a knob without listed values.
constexpr std::int64_t dense_values = 1024;

/// The first point at which all constraints hold.
Solution first_point(const std::vector<Constraint>& constraints, const std::vector<ir::Knob>& knobs) {
  Solution solution;
  const Walk walk = for_each_point(constraints, knobs, effort, [&](std::span<const std::int64_t> point) {
    for (std::size_t i = 0; i < knobs.size(); ++i) solution.witness[knobs[i].name] = point[i];
    return false;
  });
  solution.answer = walk == Walk::stopped    ? Answer::feasible
                    : walk == Walk::finished ? Answer::infeasible
                                             : Answer::unknown;
  return solution;
}

/// The knobs to try: fixed ones first, with one value, or with all that they could have when they are
/// released.
std::vector<ir::Knob> knobs_to_try(const Problem& problem, const std::set<std::string>& released) {
  std::vector<ir::Knob> knobs;
  for (const auto& [name, value] : problem.fixed) {
    ir::Knob knob{name, {value}};
    if (released.count(name) != 0) {
      const auto others = problem.alternatives(name);
      knob.values.insert(knob.values.end(), others.begin(), others.end());
    }
    knobs.push_back(std::move(knob));
  }
  // Few values first: a constraint that fails early saves most there.
  std::stable_sort(knobs.begin(), knobs.end(),
                   [](const ir::Knob& a, const ir::Knob& b) { return a.values.size() < b.values.size(); });
  for (ir::Knob& knob : problem.open()) knobs.push_back(std::move(knob));
  return knobs;
}

bool infeasible_without(const Problem& problem, const std::vector<std::size_t>& kept,
                        const std::set<std::string>& released) {
  std::vector<Constraint> constraints;
  for (const std::size_t index : kept) constraints.push_back(problem.constraints[index]);
  return first_point(constraints, knobs_to_try(problem, released)).answer == Answer::infeasible;
}

}  // namespace

std::vector<ir::Knob> Problem::open() const {
  std::vector<ir::Knob> result;
  for (const ir::Knob& knob : knobs) {
    if (fixed.count(knob.name) == 0) result.push_back(knob);
  }
  return result;
}

bool Problem::has_listed_values(const std::string& knob) const {
  return std::any_of(knobs.begin(), knobs.end(), [&](const ir::Knob& k) { return k.name == knob; });
}

std::vector<std::int64_t> Problem::alternatives(const std::string& knob) const {
  const std::int64_t value = fixed.at(knob);
  std::set<std::int64_t> values;
  for (const ir::Knob& k : knobs) {
    if (k.name == knob) values.insert(k.values.begin(), k.values.end());
  }
  if (!has_listed_values(knob)) {
    for (std::int64_t v = 1; v <= dense_values; ++v) values.insert(v);
    for (std::int64_t v = dense_values; v <= (std::int64_t{1} << 30); v *= 2) values.insert(v);
    for (std::int64_t v = value - 64; v < value; ++v) values.insert(std::max<std::int64_t>(v, 1));
  }
  values.erase(value);
  std::vector<std::int64_t> result(values.begin(), values.end());
  // Of two as far away, the smaller: it asks for less.
  std::stable_sort(result.begin(), result.end(), [&](std::int64_t a, std::int64_t b) {
    return std::llabs(a - value) < std::llabs(b - value);
  });
  return result;
}

Problem Problem::with(const KnobValues& changes) const {
  Problem changed{constraints, knobs, fixed};
  for (const auto& [name, value] : changes) changed.fixed[name] = value;
  return changed;
}

Solution solve_by_trying(const Problem& problem) {
  return first_point(problem.constraints, knobs_to_try(problem, {}));
}

Core core_by_trying(const Problem& problem) {
  Core core;
  std::vector<std::size_t> kept(problem.constraints.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i;
  for (std::size_t i = 0; i < problem.constraints.size(); ++i) {
    std::vector<std::size_t> fewer = kept;
    fewer.erase(std::find(fewer.begin(), fewer.end(), i));
    if (infeasible_without(problem, fewer, {})) kept = fewer;
  }
  std::set<std::string> released;
  for (const auto& [name, value] : problem.fixed) {
    std::set<std::string> more = released;
    more.insert(name);
    if (infeasible_without(problem, kept, more)) released = more;
  }
  core.constraints = kept;
  for (const auto& [name, value] : problem.fixed) {
    if (released.count(name) == 0) core.fixed.push_back(name);
  }
  return core;
}

KnobValues nearest_by_trying(const Problem& problem, const std::vector<std::string>& core_fixed) {
  for (const std::string& knob : core_fixed) {
    for (const std::int64_t value : problem.alternatives(knob)) {
      if (solve_by_trying(problem.with({{knob, value}})).answer == Answer::feasible) return {{knob, value}};
    }
  }
  std::size_t tries = 0;
  for (std::size_t i = 0; i < core_fixed.size(); ++i) {
    for (std::size_t j = i + 1; j < core_fixed.size(); ++j) {
      for (const std::int64_t a : problem.alternatives(core_fixed[i])) {
        for (const std::int64_t b : problem.alternatives(core_fixed[j])) {
          if (++tries > 4096) return {};
          const KnobValues changes{{core_fixed[i], a}, {core_fixed[j], b}};
          if (solve_by_trying(problem.with(changes)).answer == Answer::feasible) return changes;
        }
      }
    }
  }
  return {};
}

}  // namespace weft::resources
