#include <fmt/format.h>
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
using ir::Expr;

[[noreturn]] void throw_too_large() {
  throw UserError({"a size of the schedule cannot be computed",
                   {},
                   "a number of more than 64 bits",
                   "smaller knobs and extents"});
}

/// A point of values that no list of knobs has may make a divisor 0: tiles that are smaller than their parts.
class NoDivisor : public UserError {
 public:
  explicit NoDivisor(std::int64_t divisor)
      : UserError({"a size of the schedule cannot be computed",
                   {},
                   "a division by " + std::to_string(divisor),
                   "knobs of which each has a value of its list, with tiles no smaller than their parts"}) {}
};

std::int64_t apply(BinaryOperator op, std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  switch (op) {
    case BinaryOperator::add:
      if (__builtin_add_overflow(a, b, &value)) throw_too_large();
      return value;
    case BinaryOperator::subtract:
      if (__builtin_sub_overflow(a, b, &value)) throw_too_large();
      return value;
    case BinaryOperator::multiply:
      if (__builtin_mul_overflow(a, b, &value)) throw_too_large();
      return value;
    case BinaryOperator::divide:
    case BinaryOperator::remainder:
      if (b < 1) throw NoDivisor(b);
      return op == BinaryOperator::divide ? ir::floor_divide(a, b) : ir::floor_remainder(a, b);
    case BinaryOperator::minimum:
      return std::min(a, b);
    case BinaryOperator::maximum:
      return std::max(a, b);
    case BinaryOperator::exclusive_or:
      return a ^ b;
    case BinaryOperator::equal:
      return a == b;
    case BinaryOperator::not_equal:
      return a != b;
    case BinaryOperator::less:
      return a < b;
    case BinaryOperator::less_equal:
      return a <= b;
    case BinaryOperator::logical_and:
      return a != 0 && b != 0;
    case BinaryOperator::logical_or:
      return a != 0 || b != 0;
  }
  throw InternalError("an unknown operator in a constraint");
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
                     compile(e.right);
                     emit(Operation::binary, static_cast<std::int64_t>(e.op));
                     --height_;
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
    const auto found = std::find(knobs_.begin(), knobs_.end(), variable.name);
    internal_check(found != knobs_.end(), "a constraint uses " + variable.name + ", which has no value");
    return found - knobs_.begin();
  }

  std::span<const std::string> knobs_;
  std::vector<CompiledConstraints::Instruction>& code_;
  std::size_t height_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

std::int64_t evaluate(const Expr& expr, const KnobValues& values) {
  return std::visit(
      ir::overloaded{
          [&](const ir::Constant& e) -> std::int64_t {
            if (is_float(e.dtype)) throw_not_a_number(expr);
            return e.integer;
          },
          [&](const ir::Variable& e) -> std::int64_t {
            const auto found = values.find(e.name);
            internal_check(found != values.end(), "a constraint uses " + e.name + ", which has no value");
            return found->second;
          },
          [&](const ir::Unary& e) -> std::int64_t {
            const std::int64_t value = evaluate(e.operand, values);
            return e.op == ir::UnaryOperator::negate ? negated(value) : value == 0;
          },
          [&](const ir::Binary& e) -> std::int64_t {
            return apply(e.op, evaluate(e.left, values), evaluate(e.right, values));
          },
          [&](const ir::Select& e) -> std::int64_t {
            return evaluate(evaluate(e.condition, values) != 0 ? e.when_true : e.when_false, values);
          },
          [&](const ir::Cast& e) -> std::int64_t {
            require_exact(e, expr);
            const std::int64_t value = evaluate(e.operand, values);
            return e.dtype == DType::boolean ? value != 0 : value;
          },
          [&](const auto&) -> std::int64_t { throw_not_a_number(expr); },
      },
      expr.node().kind());
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
  for (const Expr& side : {constraint.left, constraint.limit}) {
    ir::visit(side, [&](const Expr& e) {
      if (const auto* variable = e.as<ir::Variable>()) names.insert(variable->name);
    });
  }
  return {names.begin(), names.end()};
}

CompiledConstraints::CompiledConstraints(std::span<const Constraint> constraints,
                                         std::span<const std::string> knobs)
    : knobs_(knobs.size()) {
  Compiler compiler(knobs, code_);
  for (const Constraint& constraint : constraints) {
    compiler.reset();
    compiler.compile(constraint.left);
    compiler.compile(constraint.limit);
    compiler.emit(Operation::binary, static_cast<std::int64_t>(BinaryOperator::less_equal));
    ends_.push_back(code_.size());
  }
  depth_ = compiler.depth();
}

std::int64_t CompiledConstraints::run(std::size_t begin, std::size_t end, std::span<const std::int64_t> point,
                                      std::int64_t* top) const {
  // `top` points past the upper number.
  for (std::size_t at = begin; at < end; ++at) {
    const Instruction& instruction = code_[at];
    switch (instruction.operation) {
      case Operation::push:
        *top++ = instruction.operand;
        break;
      case Operation::push_knob:
        *top++ = point[static_cast<std::size_t>(instruction.operand)];
        break;
      case Operation::negate:
        top[-1] = negated(top[-1]);
        break;
      case Operation::logical_not:
        top[-1] = top[-1] == 0;
        break;
      case Operation::binary:
        --top;
        top[-1] = apply(static_cast<BinaryOperator>(instruction.operand), top[-1], top[0]);
        break;
      case Operation::to_boolean:
        top[-1] = top[-1] != 0;
        break;
      case Operation::jump:
        at = static_cast<std::size_t>(instruction.operand) - 1;
        break;
      case Operation::jump_if_zero:
        if (*--top == 0) at = static_cast<std::size_t>(instruction.operand) - 1;
        break;
    }
  }
  return top[-1];
}

bool CompiledConstraints::holds(std::size_t index, std::span<const std::int64_t> point) const {
  internal_check(point.size() == knobs_, "a point with the wrong number of knobs");
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  try {
    std::array<std::int64_t, 32> small;
    if (depth_ <= small.size()) return run(begin, ends_[index], point, small.data()) != 0;
    std::vector<std::int64_t> large(depth_);
    return run(begin, ends_[index], point, large.data()) != 0;
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
