#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/conjuncts.h>

#include <algorithm>

namespace weft::ir {
namespace {

void collect(const Expr& condition, std::vector<Expr>& parts) {
  const auto* both = condition.as<Binary>();
  if (both != nullptr && both->op == BinaryOperator::logical_and) {
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

bool share_an_atom(const Expr& a, const Expr& b) {
  const std::vector<Expr> others = atoms_of(b);
  return std::ranges::any_of(atoms_of(a), [&](const Expr& atom) {
    return std::ranges::any_of(others, [&](const Expr& other) { return same(atom, other); });
  });
}

}  // namespace weft::ir
