// Named integer conditions over the knobs of a schedule, written once as expressions of the IR: evaluated
// here, thousands of points a millisecond; proved and explained in resources.h.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// A value for each knob, by name.
using KnobValues = std::map<std::string, std::int64_t>;

/// left <= limit. Both are integer expressions whose only variables are knobs.
struct Constraint {
  std::string name;  ///< short and unique in its list: "shared memory"
  std::string text;  ///< what is counted and what limits it, for people
  std::string unit;  ///< "B", "threads"; may be empty
  ir::Expr left;
  ir::Expr limit;
  /// What `left` is made of, where it is a sum that a person wants to see: buffers and their bytes.
  std::vector<std::pair<std::string, ir::Expr>> parts;
};

/// The value of an integer or boolean expression. InternalError when it holds a load, a call, a floating
/// value or a variable without value; UserError when a number does not fit 64 bits, or it divides by less
/// than 1.
std::int64_t evaluate(const ir::Expr& expr, const KnobValues& values);

/// True when left <= limit, never where either divides by less than 1. Otherwise throws as `evaluate`.
bool holds(const Constraint& constraint, const KnobValues& values);

/// The first constraint that does not hold, or null. Throws as `holds`.
const Constraint* first_violation(std::span<const Constraint> constraints, const KnobValues& values);

/// The names of the variables in both sides, each once, sorted.
std::vector<std::string> knobs_of(const Constraint& constraint);

/// The constraints of a search: compiled once, evaluated at every point. Threads may share one.
class CompiledConstraints {
 public:
  /// A point gives values in the order of `knobs`. InternalError when a constraint uses another variable, a
  /// load, a call or a floating value.
  CompiledConstraints(std::span<const Constraint> constraints, std::span<const std::string> knobs);

  std::size_t size() const { return ends_.size(); }
  /// True when constraint `index` holds at the point. Throws as weft::holds.
  bool holds(std::size_t index, std::span<const std::int64_t> point) const;
  /// Index of the first constraint that does not hold, or nothing. Throws as weft::holds.
  std::optional<std::size_t> first_violation(std::span<const std::int64_t> point) const;

  /// One operation on a stack of numbers.
  enum class Operation : std::uint8_t {
    push,       ///< the number `operand`
    push_knob,  ///< the value of knob number `operand`
    negate,
    logical_not,
    binary,        ///< `op` of the upper two
    with_number,   ///< `op` of the upper one and the number `operand`
    with_knob,     ///< `op` of the upper one and the value of knob number `operand`
    to_boolean,    ///< 1 for what is not 0
    jump,          ///< on to instruction `operand`
    jump_if_zero,  ///< the same, when the upper number, which goes, is 0
  };
  struct Instruction {
    Operation operation;
    std::int64_t operand = 0;
    ir::BinaryOperator op = ir::BinaryOperator::add;
  };

 private:
  std::vector<Instruction> code_;
  std::vector<std::size_t> ends_;  ///< where each constraint ends in `code_`
  std::size_t depth_ = 0;          ///< values on the deepest stack
  std::size_t knobs_ = 0;
};

}  // namespace weft
