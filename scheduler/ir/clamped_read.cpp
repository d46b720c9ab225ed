#include <weft/scheduler/ir/clamped_read.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <vector>

namespace weft::ir {
namespace {

/// `index`, or what clamping made of it.
bool holds(const Expr& expr, const Expr& index) {
  if (same(expr, index)) return true;
  const auto* clamp = expr.as<Binary>();
  return clamp != nullptr && (clamp->op == BinaryOperator::minimum || clamp->op == BinaryOperator::maximum) &&
         holds(clamp->left, index);
}

/// Whether the expressions have a term in common, as n and 2 * n have: what bounds one bounds the other.
bool share_a_term(const Expr& a, const Expr& b) {
  const Linear left = linear(a), right = linear(b);
  return std::ranges::any_of(left.terms, [&](const Linear::Term& term) {
    return std::ranges::any_of(right.terms,
                               [&](const Linear::Term& other) { return same(term.atom, other.atom); });
  });
}

}  // namespace

bool clamp_reads(const Expr& condition, Expr& value) {
  Expr clamped = value;
  for (const Expr& part : conjuncts_of(condition)) {
    const auto bound = bound_of(part);
    if (!bound) return false;
    bool found = false, others = false;
    clamped = rewrite<Load>(clamped, [&](const Load& load, const Expr& e) {
      if (load.buffer->scope != Scope::global) return e;
      std::vector<Expr> indices = load.indices;
      for (Expr& each : indices) {
        if (!holds(each, bound->index)) {
          others = others || share_a_term(each, bound->index);
          continue;
        }
        found = true;
        each = bound->end.defined() ? minimum(each, bound->end - 1) : maximum(each, integer(0));
      }
      return ir::load(load.buffer, std::move(indices));
    });
    if (!found || others) return false;
  }
  value = clamped;
  return true;
}

}  // namespace weft::ir
