// The question behind complete(), shared by the two ways to answer it. Not for other rooms.
#pragma once

#include <weft/scheduler/limits/resources.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::resources {

struct Problem {
  const std::vector<Constraint>& constraints;
  const std::vector<ir::Knob>& knobs;
  KnobValues fixed;

  /// The knobs that are not fixed.
  std::vector<ir::Knob> open() const;
  /// Values that a fixed knob may change to, nearest to its own first, its own left out.
  std::vector<std::int64_t> alternatives(const std::string& knob) const;
  /// The knob with all values that it may have, where these are listed; else null.
  const ir::Knob* listed(const std::string& knob) const;
  Problem with(const KnobValues& changes) const;
};

struct Solution {
  Answer answer = Answer::unknown;
  KnobValues witness;  ///< when feasible
};

/// What clashes: indices of constraints and names of fixed knobs.
struct Core {
  std::vector<std::size_t> constraints;
  std::vector<std::string> fixed;
};

/// Tries the values of the open knobs, up to an effort; `unknown` past it.
Solution solve_by_trying(const Problem& problem);
/// A core that loses nothing more, as far as trying values of released knobs can tell.
Core core_by_trying(const Problem& problem);
/// New values for as few fixed knobs as possible, three at most, or nothing.
KnobValues nearest_by_trying(const Problem& problem);

/// Z3's answers; `unknown` or nothing when it gives up, and always in a build without it.
Solution solve_by_z3(const Problem& problem);
/// A core of which each element is needed, when Z3 proves that the problem is infeasible.
std::optional<Core> core_by_z3(const Problem& problem);
/// Sets `proved` of the clashes that Z3 proves: one question each, where core_by_z3() asks many.
void prove_by_z3(const Problem& problem, std::vector<Clash>& clashes);
/// New values for as few fixed knobs as possible.
KnobValues nearest_by_z3(const Problem& problem);
/// Whether weft was built with Z3.
bool has_z3();

}  // namespace weft::resources
