// Answers by trying values.
#include <weft/scheduler/limits/points.h>
#include <weft/scheduler/limits/resources_problem.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

namespace weft::resources {
namespace {

/// Points and partial points that one question may cost: well under a second.
constexpr std::size_t most_points_tried = std::size_t{1} << 20;
/// Longest list of numbers tried for a knob without listed values.
constexpr std::int64_t dense_values = 1024;
/// Fixed knobs that are changed together.
constexpr std::size_t most_changes = 3;

/// The first point at which all constraints hold. A knob that none of them is about has its first value
/// without being tried.
Solution first_point(const std::vector<Constraint>& constraints, const std::vector<ir::Knob>& knobs) {
  Solution solution;
  std::set<std::string> used;
  for (const Constraint& constraint : constraints) {
    const std::vector<std::string> names = knobs_of(constraint);
    used.insert(names.begin(), names.end());
  }
  std::vector<ir::Knob> tried;
  for (const ir::Knob& knob : knobs) {
    solution.witness[knob.name] = knob.values.front();
    if (used.count(knob.name) != 0) tried.push_back(knob);
  }
  const Walk walk =
      for_each_point(constraints, tried, most_points_tried, [&](std::span<const std::int64_t> point) {
        for (std::size_t i = 0; i < tried.size(); ++i) solution.witness[tried[i].name] = point[i];
        return false;
      });
  solution.answer = walk == Walk::stopped    ? Answer::feasible
                    : walk == Walk::finished ? Answer::infeasible
                                             : Answer::unknown;
  if (solution.answer != Answer::feasible) solution.witness.clear();
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
  std::ranges::stable_sort(
      knobs, [](const ir::Knob& a, const ir::Knob& b) { return a.values.size() < b.values.size(); });
  for (ir::Knob& knob : problem.open()) knobs.push_back(std::move(knob));
  return knobs;
}

/// Whether no point is left by some constraints alone, with some fixed knobs released.
bool infeasible_by(const Problem& problem, const std::vector<std::size_t>& kept,
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

const ir::Knob* Problem::listed(const std::string& knob) const {
  const auto found = std::ranges::find(knobs, knob, &ir::Knob::name);
  return found == knobs.end() ? nullptr : &*found;
}

std::vector<std::int64_t> Problem::alternatives(const std::string& knob) const {
  const std::int64_t value = fixed.at(knob);
  std::set<std::int64_t> values;
  if (const ir::Knob* known = listed(knob)) {
    values.insert(known->values.begin(), known->values.end());
  } else {
    for (std::int64_t v = 1; v <= dense_values; ++v) values.insert(v);
    for (std::int64_t v = dense_values; v <= (std::int64_t{1} << 30); v *= 2) values.insert(v);
    for (std::int64_t v = value - 64; v < value; ++v) values.insert(std::max<std::int64_t>(v, 1));
  }
  values.erase(value);
  std::vector<std::int64_t> result(values.begin(), values.end());
  // The smaller of two that are as far away comes first: it asks for less.
  std::ranges::stable_sort(
      result, [&](std::int64_t a, std::int64_t b) { return std::llabs(a - value) < std::llabs(b - value); });
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

namespace {

/// Those of `candidates` that are needed beside `known` for nothing to be left, the last ones where there is
/// a choice: Junker, QuickXplain (AAAI 2004), which asks for a few halves instead of for every constraint.
std::vector<std::size_t> needed(const Problem& problem, const std::vector<std::size_t>& known, bool changed,
                                const std::vector<std::size_t>& candidates) {
  if (changed && infeasible_by(problem, known, {})) return {};
  if (candidates.size() == 1) return candidates;
  const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(candidates.size() / 2);
  const std::vector<std::size_t> first(candidates.begin(), middle), last(middle, candidates.end());
  const auto with = [&](const std::vector<std::size_t>& more) {
    std::vector<std::size_t> both = known;
    both.insert(both.end(), more.begin(), more.end());
    return both;
  };
  std::vector<std::size_t> found = needed(problem, with(last), true, first);
  const std::vector<std::size_t> of_last = needed(problem, with(found), !found.empty(), last);
  found.insert(found.end(), of_last.begin(), of_last.end());
  return found;
}

}  // namespace

Core core_by_trying(const Problem& problem) {
  Core core;
  std::vector<std::size_t> all(problem.constraints.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> kept = needed(problem, {}, false, all);
  std::ranges::sort(kept);
  std::set<std::string> released;
  for (const auto& [name, value] : problem.fixed) {
    std::set<std::string> more = released;
    more.insert(name);
    if (infeasible_by(problem, kept, more)) released = more;
  }
  core.constraints = kept;
  for (const auto& [name, value] : problem.fixed) {
    if (released.count(name) == 0) core.fixed.push_back(name);
  }
  return core;
}

KnobValues nearest_by_trying(const Problem& problem) {
  std::vector<std::string> names;
  for (const auto& [name, value] : problem.fixed) names.push_back(name);
  const std::size_t most = std::min(names.size(), most_changes);
  for (std::size_t count = 1; count <= most; ++count) {
    // Every choice of so many of them, the first ones first.
    std::vector<bool> chosen(names.size());
    std::fill_n(chosen.begin(), count, true);
    do {
      std::set<std::string> released;
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (chosen[i]) released.insert(names[i]);
      }
      const Solution found = first_point(problem.constraints, knobs_to_try(problem, released));
      if (found.answer != Answer::feasible) continue;
      KnobValues changes;
      for (const std::string& name : released) {
        if (found.witness.at(name) != problem.fixed.at(name)) changes[name] = found.witness.at(name);
      }
      return changes;
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
  }
  return {};
}

}  // namespace weft::resources
