#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/conjuncts.h>

#include <algorithm>
#include <numeric>

namespace weft::ir {
namespace {

void collect(const Expr& condition, std::vector<Expr>& parts) {
  if (const auto* both = as_binary(condition, BinaryOperator::logical_and)) {
    collect(both->left, parts);
    collect(both->right, parts);
  } else {
    parts.push_back(condition);
  }
}

/// The variables and the loads that an expression is made of, without those inside of loads.
void collect_atoms(const Expr& expr, std::vector<Expr>& atoms) {
  if (expr.as<Load>() != nullptr || expr.as<Variable>() != nullptr)
    atoms.push_back(expr);
  else
    each_child(expr, [&](const Expr& child) { collect_atoms(child, atoms); });
}

std::vector<Expr> atoms_of(const Expr& expr) {
  std::vector<Expr> atoms;
  collect_atoms(expr, atoms);
  return atoms;
}

}  // namespace

std::vector<Expr> conjuncts_of(const Expr& condition) {
  std::vector<Expr> parts;
  collect(condition, parts);
  return parts;
}

Expr all_of(const std::vector<Expr>& conditions) {
  return std::accumulate(conditions.begin(), conditions.end(), boolean(true),
                         [](const Expr& all, const Expr& condition) { return all && condition; });
}

const Binary* inequality(const Expr& expr) {
  const auto* less = as_binary(expr, BinaryOperator::less);
  return less != nullptr ? less : as_binary(expr, BinaryOperator::less_equal);
}

std::optional<Bound> bound_of(const Expr& condition) {
  const auto* compare = inequality(condition);
  if (compare == nullptr || is_float(compare->left.dtype())) return std::nullopt;
  if (compare->op == BinaryOperator::less) return Bound{compare->left, compare->right};
  const std::int64_t* zero = integer_value(compare->left);
  return zero != nullptr && *zero == 0 ? std::optional(Bound{compare->right, {}}) : std::nullopt;
}

Bound undivided(Bound bound) {
  const Binary* quotient = as_binary(bound.index, BinaryOperator::divide);
  const std::int64_t* divisor = quotient != nullptr ? integer_value(quotient->right) : nullptr;
  if (divisor == nullptr || *divisor < 1) return bound;
  return undivided({quotient->left, bound.end.defined() ? bound.end * *divisor : Expr()});
}

bool share_an_atom(const Expr& a, const Expr& b) {
  const std::vector<Expr> others = atoms_of(b);
  return std::ranges::any_of(atoms_of(a), [&](const Expr& atom) { return contains(others, atom); });
}

}  // namespace weft::ir
