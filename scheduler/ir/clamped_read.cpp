#include <weft/scheduler/ir/clamped_read.h>
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

/// The comparisons 0 <= x and x < end of a conjunction; false where it holds anything else.
bool collect_bounds(const Expr& condition, std::vector<Expr>& bounds) {
  const auto* both = condition.as<Binary>();
  if (both == nullptr) return false;
  if (both->op == BinaryOperator::logical_and)
    return collect_bounds(both->left, bounds) && collect_bounds(both->right, bounds);
  if (is_float(both->left.dtype())) return false;
  const std::int64_t* left = integer_value(both->left);
  const bool is_lower = both->op == BinaryOperator::less_equal && left != nullptr && *left == 0;
  const bool is_upper = both->op == BinaryOperator::less;
  if (is_lower || is_upper) bounds.push_back(condition);
  return is_lower || is_upper;
}

}  // namespace

bool clamp_reads(const Expr& condition, Expr& value) {
  std::vector<Expr> bounds;
  if (!collect_bounds(condition, bounds)) return false;
  Expr clamped = value;
  for (const Expr& bound : bounds) {
    const auto* compare = bound.as<Binary>();
    const bool is_lower = compare->op == BinaryOperator::less_equal;
    const Expr& index = is_lower ? compare->right : compare->left;
    bool found = false, others = false;
    Rewriter rewriter;
    rewriter.on_expr = [&](const Expr& e) {
      const auto* load = e.as<Load>();
      if (load == nullptr || load->buffer->scope != Scope::global) return e;
      std::vector<Expr> indices = load->indices;
      for (Expr& each : indices) {
        if (!holds(each, index)) {
          others = others || share_a_term(each, index);
          continue;
        }
        found = true;
        each = is_lower ? maximum(each, integer(0)) : minimum(each, compare->right - 1);
      }
      return ir::load(load->buffer, std::move(indices));
    };
    clamped = rewriter(clamped);
    if (!found || others) return false;
  }
  value = clamped;
  return true;
}

}  // namespace weft::ir
