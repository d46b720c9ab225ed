#if WEFT_WITH_Z3
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/resources_z3_expressions.h>

namespace weft {

using ir::BinaryOperator;

Z3Expressions::Z3Expressions(z3::context& context, z3::solver& solver, OfVariable of_variable, OfLoad of_load,
                             OfCall of_call)
    : context_(context),
      solver_(solver),
      of_variable_(std::move(of_variable)),
      of_load_(std::move(of_load)),
      of_call_(std::move(of_call)) {}

z3::expr Z3Expressions::integer(const Expr& expr) {
  const z3::expr value = translate(expr);
  return value.is_bool() ? z3::ite(value, number(1), number(0)) : value;
}

z3::expr Z3Expressions::truth(const Expr& expr) {
  const z3::expr value = translate(expr);
  return value.is_bool() ? value : value != 0;
}

z3::expr Z3Expressions::translate(const Expr& expr) {
  return std::visit(ir::overloaded{
                        [&](const ir::Constant& e) { return number(e.integer); },
                        [&](const ir::Variable& e) { return of_variable_(e.name); },
                        [&](const ir::Unary& e) -> z3::expr {
                          if (e.op == ir::UnaryOperator::negate) return -integer(e.operand);
                          return !truth(e.operand);
                        },
                        [&](const ir::Binary& e) { return translate(e); },
                        [&](const ir::Select& e) {
                          return z3::ite(truth(e.condition), integer(e.when_true), integer(e.when_false));
                        },
                        [&](const ir::Cast& e) -> z3::expr {
                          return e.dtype == DType::boolean ? truth(e.operand) : integer(e.operand);
                        },
                        [&](const ir::Load& e) -> z3::expr {
                          internal_check(of_load_ != nullptr, "a condition over knobs reads memory");
                          return of_load_(e);
                        },
                        [&](const ir::Call& e) -> z3::expr {
                          internal_check(of_call_ != nullptr, "a condition over knobs asks an instruction");
                          return of_call_(e);
                        },
                    },
                    expr.node().kind());
}

z3::expr Z3Expressions::translate(const ir::Binary& e) {
  if (e.op == BinaryOperator::logical_and) return truth(e.left) && truth(e.right);
  if (e.op == BinaryOperator::logical_or) return truth(e.left) || truth(e.right);
  if (const auto chosen = by_cases(e)) return *chosen;
  const z3::expr a = integer(e.left);
  const z3::expr b = integer(e.right);
  switch (e.op) {
    case BinaryOperator::add: return a + b;
    case BinaryOperator::subtract: return a - b;
    case BinaryOperator::multiply: return a * b;
    case BinaryOperator::divide: return quotient(a, b).first;
    case BinaryOperator::remainder: return quotient(a, b).second;
    case BinaryOperator::minimum: return z3::ite(a <= b, a, b);
    case BinaryOperator::maximum: return z3::ite(a <= b, b, a);
    case BinaryOperator::exclusive_or: return z3::bv2int(z3::int2bv(64, a) ^ z3::int2bv(64, b), true);
    case BinaryOperator::equal: return a == b;
    case BinaryOperator::not_equal: return a != b;
    case BinaryOperator::less: return a < b;
    case BinaryOperator::less_equal: return a <= b;
    default: throw InternalError("an unknown operator in a condition");
  }
}

std::optional<z3::expr> Z3Expressions::by_cases(const ir::Binary& e) {
  const bool product = e.op == BinaryOperator::multiply;
  const bool quotient = e.op == BinaryOperator::divide || e.op == BinaryOperator::remainder;
  if (!of_cases_ || (!product && !quotient)) return std::nullopt;
  std::vector<Case> cases = of_cases_(e.right);
  z3::expr other = integer(e.left);
  if (product && !other.is_numeral()) {
    const std::vector<Case> of_left = of_cases_(e.left);
    if (!of_left.empty() && (cases.empty() || of_left.size() < cases.size())) {
      cases = of_left;
      other = integer(e.right);
    }
  }
  if (cases.empty() || (!product && cases.front().value < 1)) return std::nullopt;
  const auto with = [&](std::int64_t value) {
    if (product) return other * number(value);
    return e.op == BinaryOperator::divide ? other / number(value) : z3::mod(other, number(value));
  };
  z3::expr result = with(cases.front().value);
  for (std::size_t i = 1; i < cases.size(); ++i) {
    if (!product && cases[i].value < 1) return std::nullopt;
    result = z3::ite(cases[i].condition, with(cases[i].value), result);
  }
  return result;
}

/// Z3 reasons badly about division by a variable and well about what division means.
std::pair<z3::expr, z3::expr> Z3Expressions::quotient(const z3::expr& a, const z3::expr& b) {
  if (b.is_numeral() && b.get_numeral_int64() > 0) return {a / b, z3::mod(a, b)};
  const std::string number_text = std::to_string(quotients_++);
  const z3::expr q = context_.int_const(("quotient " + number_text).c_str());
  const z3::expr r = context_.int_const(("remainder " + number_text).c_str());
  solver_.add(z3::implies(b >= 1, a == b * q + r && r >= 0 && r < b));
  return {q, r};
}

}  // namespace weft
#endif
