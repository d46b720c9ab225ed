// Whether a schedule that is partly decided can be completed on a target; where it cannot, which named
// constraints clash, with their numbers, and what the nearest change is that helps.
//
// Small sets of open knobs are decided by trying every point. Z3, where weft was built with it, decides the
// large ones, proves that the constraints it names cannot hold together, and finds the fewest knobs to
// change. It works against a budget of steps, not of time, so answers are the same everywhere.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/limits/constraint.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {

/// `unknown`: the effort was spent without an answer. It never stands for "feasible".
enum class Answer : std::uint8_t { feasible, infeasible, unknown };

/// One knob changed, everything else kept.
struct Remedy {
  enum class Kind : std::uint8_t {
    at_most,   ///< every value of the knob up to this one is feasible
    at_least,  ///< every value from this one on
    exactly,   ///< this one, the nearest that is
  };
  std::string knob;
  Kind kind = Kind::exactly;
  std::int64_t value = 0;

  bool operator==(const Remedy&) const = default;
};

/// Constraints that cannot hold together. Without any of them, or of `fixed`, the others can.
struct Clash {
  std::vector<Constraint> core;
  KnobValues fixed;     ///< the fixed knobs that the clash needs
  KnobValues numbers;   ///< values of all knobs that come nearest to holding; fixed ones as they are
  bool proved = false;  ///< by Z3; false: found by trying values of the knobs
};

struct Feasibility {
  Answer answer = Answer::unknown;
  /// When feasible: a value for every knob, fixed and open, with which all constraints hold.
  KnobValues witness;

  // When infeasible:
  /// At least one. Of several, no two have a constraint in common.
  std::vector<Clash> clashes;
  /// Changes of a single fixed knob, each enough by itself, whatever clashes.
  std::vector<Remedy> remedies;
  KnobValues nearest;  ///< the fewest fixed knobs to change, with their new values; empty: none found
};

/// Can `constraints` hold with the knobs of `fixed` at their values and every other knob of `knobs` at one of
/// its own? A fixed knob that stands in `knobs` too may change to those values in remedies, another one to
/// any number from 1. A listed value may be 0: there is none of what the knob counts. UserError when another
/// fixed value is below 1 or a number does not fit 64 bits; InternalError when a constraint uses a variable
/// that is neither fixed nor open, or a knob has no values or values below 0.
Feasibility complete(const std::vector<Constraint>& constraints, const std::vector<ir::Knob>& knobs,
                     const KnobValues& fixed, CallPlace place = {});

/// How the value of a knob is written; null: as a number.
using KnobWords = std::function<std::string(const std::string& knob, std::int64_t value)>;

/// One line. Infeasible: "infeasible on sm_86: shared memory A 32768 + B 16384 x 6 stages = 131072 B > 101376
/// B; feasible with stages <= 4 or tile_n <= 64". `target` is its name.
std::string explain(const Feasibility& feasibility, const std::string& target, const KnobWords& words = {});
/// The constraints of one clash with their numbers: "shared memory A 32768 + … = 131072 B > 101376 B".
std::string explain(const Clash& clash, const KnobWords& words = {});

/// The same as an error for the user; `where` is the step and the line that ask for it.
InfeasibleError infeasible_error(const Feasibility& feasibility, const std::string& target,
                                 const std::string& where);

/// Throws InfeasibleError unless the program can be completed on the target with these knobs fixed.
void require_feasible(const ir::Program& program, const Target& target, const KnobValues& fixed = {},
                      CallPlace place = {});

}  // namespace weft
