#include <weft/scheduler/ir/agreement.h>
#include <weft/scheduler/ir/children.h>

namespace weft::ir {
namespace {

bool is_thread_number(const Expr& expr) {
  const auto* call = expr.as<Call>();
  return call != nullptr && call->instruction == "thread";
}

/// The number of a part of the block's threads, none of which ends inside of those that are together.
bool is_number_of_parts(const Expr& expr, std::int64_t threads) {
  const auto* e = expr.as<Binary>();
  if (threads == 0 || e == nullptr || e->op != BinaryOperator::divide || !is_thread_number(e->left))
    return false;
  const std::int64_t* divisor = integer_value(e->right);
  return divisor != nullptr && *divisor > 0 && *divisor % threads == 0;
}

}  // namespace

bool agree(const Expr& expr, const Together& together) {
  if (const auto* variable = expr.as<Variable>()) return together.agree_on(variable->name);
  if (is_thread_number(expr)) return together.threads == 1;
  if (is_number_of_parts(expr, together.threads)) return true;
  if (expr.as<Load>() != nullptr && !together.agree_on_reads) return false;
  return !any_child(expr, [&](const Expr& child) { return !agree(child, together); });
}

}  // namespace weft::ir
