#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/fold.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/constraint.h>

#include <algorithm>
#include <array>
#include <set>

namespace weft {
namespace {

using ir::BinaryOperator;

[[noreturn]] void throw_too_large() {
  throw UserError("a size of the schedule cannot be computed", "a number of more than 64 bits",
                  "smaller knobs and extents");
}

/// A point of values that no list of knobs has may make a divisor 0: tiles that are smaller than their parts.
class NoDivisor : public UserError {
 public:
  explicit NoDivisor(std::int64_t divisor)
      : UserError("a size of the schedule cannot be computed", "a division by " + std::to_string(divisor),
                  "knobs of which each has a value of its list, with tiles no smaller than their parts") {}
};

std::int64_t apply(BinaryOperator op, std::int64_t a, std::int64_t b) {
  if (const auto value = ir::computed(op, a, b)) return *value;
  if (op == BinaryOperator::divide || op == BinaryOperator::remainder) throw NoDivisor(b);
  throw_too_large();
}

std::int64_t negated(std::int64_t value) {
  return apply(BinaryOperator::subtract, 0, value);
}

[[noreturn]] void throw_not_a_number(const Expr& expr) {
  throw InternalError("a constraint holds " + ir::print(expr) + ", which is no integer over knobs");
}

/// Conversions to narrower integers could change the number.
void require_exact(const ir::Cast& cast, const Expr& expr) {
  if (cast.dtype != DType::i64 && cast.dtype != DType::boolean) throw_not_a_number(expr);
}

/// Translates expressions to operations on a stack.
class Compiler {
 public:
  using Operation = CompiledConstraints::Operation;

  Compiler(std::span<const std::string> knobs, std::vector<CompiledConstraints::Instruction>& code)
      : knobs_(knobs), code_(code) {}

  void compile(const Expr& expr) {
    std::visit(ir::overloaded{
                   [&](const ir::Constant& e) {
                     if (is_float(e.dtype)) throw_not_a_number(expr);
                     push(Operation::push, e.integer);
                   },
                   [&](const ir::Variable& e) { push(Operation::push_knob, number_of(e)); },
                   [&](const ir::Unary& e) {
                     compile(e.operand);
                     emit(e.op == ir::UnaryOperator::negate ? Operation::negate : Operation::logical_not, 0);
                   },
                   [&](const ir::Binary& e) {
                     compile(e.left);
                     compile_right(e.op, e.right);
                   },
                   [&](const ir::Select& e) { compile_select(e); },
                   [&](const ir::Cast& e) {
                     require_exact(e, expr);
                     compile(e.operand);
                     if (e.dtype == DType::boolean) emit(Operation::to_boolean, 0);
                   },
                   [&](const auto&) { throw_not_a_number(expr); },
               },
               expr.node().kind());
  }

  /// `op` of what is on the stack and the expression.
  void compile_right(BinaryOperator op, const Expr& right) {
    if (const std::int64_t* number = ir::integer_value(right)) {
      code_.push_back({Operation::with_number, *number, op});
    } else if (const auto* knob = right.as<ir::Variable>()) {
      code_.push_back({Operation::with_knob, number_of(*knob), op});
    } else {
      compile(right);
      code_.push_back({Operation::binary, 0, op});
      --height_;
    }
  }

  void emit(Operation operation, std::int64_t operand) { code_.push_back({operation, operand}); }
  std::size_t depth() const { return depth_; }
  void reset() { height_ = 0; }

 private:
  void push(Operation operation, std::int64_t operand) {
    emit(operation, operand);
    depth_ = std::max(depth_, ++height_);
  }

  /// The branch that is not taken may overflow, so only one of them runs.
  void compile_select(const ir::Select& e) {
    compile(e.condition);
    const std::size_t to_false = code_.size();
    emit(Operation::jump_if_zero, 0);
    --height_;
    compile(e.when_true);
    const std::size_t to_end = code_.size();
    emit(Operation::jump, 0);
    --height_;
    code_[to_false].operand = static_cast<std::int64_t>(code_.size());
    compile(e.when_false);
    code_[to_end].operand = static_cast<std::int64_t>(code_.size());
  }

  std::int64_t number_of(const ir::Variable& variable) const {
    const auto found = std::ranges::find(knobs_, variable.name);
    internal_check(found != knobs_.end(), "a constraint uses " + variable.name + ", which has no value");
    return found - knobs_.begin();
  }

  std::span<const std::string> knobs_;
  std::vector<CompiledConstraints::Instruction>& code_;
  std::size_t height_ = 0;
  std::size_t depth_ = 0;
};

/// Runs instructions from number `begin` to before `end`; `depth` values are on the deepest stack.
std::int64_t run(std::span<const CompiledConstraints::Instruction> code, std::size_t begin, std::size_t end,
                 std::span<const std::int64_t> point, std::size_t depth) {
  using Operation = CompiledConstraints::Operation;
  std::array<std::int64_t, 32> small;
  std::vector<std::int64_t> large(depth <= small.size() ? 0 : depth);
  std::int64_t* top = large.empty() ? small.data() : large.data();  // past the upper number
  for (std::size_t at = begin; at < end; ++at) {
    const auto& [operation, operand, op] = code[at];
    switch (operation) {
      case Operation::push: *top++ = operand; break;
      case Operation::push_knob: *top++ = point[operand]; break;
      case Operation::negate: top[-1] = negated(top[-1]); break;
      case Operation::logical_not: top[-1] = top[-1] == 0; break;
      case Operation::binary:
        --top;
        top[-1] = apply(op, top[-1], top[0]);
        break;
      case Operation::with_number: top[-1] = apply(op, top[-1], operand); break;
      case Operation::with_knob: top[-1] = apply(op, top[-1], point[operand]); break;
      case Operation::to_boolean: top[-1] = top[-1] != 0; break;
      case Operation::jump: at = static_cast<std::size_t>(operand) - 1; break;
      case Operation::jump_if_zero:
        if (*--top == 0) at = static_cast<std::size_t>(operand) - 1;
        break;
    }
  }
  return top[-1];
}

}  // namespace

std::int64_t evaluate(const Expr& expr, const KnobValues& values) {
  std::vector<std::string> knobs;
  std::vector<std::int64_t> point;
  for (const auto& [name, value] : values) {
    knobs.push_back(name);
    point.push_back(value);
  }
  std::vector<CompiledConstraints::Instruction> code;
  Compiler compiler(knobs, code);
  compiler.compile(expr);
  return run(code, 0, code.size(), point, compiler.depth());
}

bool holds(const Constraint& constraint, const KnobValues& values) {
  try {
    return evaluate(constraint.left, values) <= evaluate(constraint.limit, values);
  } catch (const NoDivisor&) {
    return false;
  }
}

const Constraint* first_violation(std::span<const Constraint> constraints, const KnobValues& values) {
  for (const Constraint& constraint : constraints) {
    if (!holds(constraint, values)) return &constraint;
  }
  return nullptr;
}

std::vector<std::string> knobs_of(const Constraint& constraint) {
  std::set<std::string> names;
  for (const Expr& side : {constraint.left, constraint.limit})
    ir::each<ir::Variable>(side, [&](const ir::Variable& variable) { names.insert(variable.name); });
  return {names.begin(), names.end()};
}

CompiledConstraints::CompiledConstraints(std::span<const Constraint> constraints,
                                         std::span<const std::string> knobs)
    : knobs_(knobs.size()) {
  Compiler compiler(knobs, code_);
  for (const Constraint& constraint : constraints) {
    compiler.reset();
    compiler.compile(constraint.left);
    compiler.compile_right(BinaryOperator::less_equal, constraint.limit);
    ends_.push_back(code_.size());
  }
  depth_ = compiler.depth();
}

bool CompiledConstraints::holds(std::size_t index, std::span<const std::int64_t> point) const {
  internal_check(point.size() == knobs_, "a point with the wrong number of knobs");
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  try {
    return run(code_, begin, ends_[index], point, depth_) != 0;
  } catch (const NoDivisor&) {
    return false;
  }
}

std::optional<std::size_t> CompiledConstraints::first_violation(std::span<const std::int64_t> point) const {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (!holds(i, point)) return i;
  }
  return std::nullopt;
}

}  // namespace weft
