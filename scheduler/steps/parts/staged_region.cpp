#include <weft/scheduler/ir/fold.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/staged_region.h>

#include <algorithm>

namespace weft::steps {
namespace {

bool reads_inner_data(const Expr& expr, const ir::InnerLoops& loops) {
  return ir::any<ir::Load>(expr, [&](const ir::Load& load) {
    return std::ranges::any_of(load.indices, [&](const Expr& index) { return uses_any(index, loops); });
  });
}

/// The values of an expression of loops inside and of coordinates, where both ends are known.
std::optional<ir::Range> inner_range(const Expr& expr, const ir::InnerLoops& loops,
                                     const Coordinates& coordinates) {
  ir::Ranges ranges;
  const Expr named = coordinates.named(expr, ranges);
  for (const auto& [name, loop] : loops) {
    if (const auto known = ir::constant_iterations(loop))
      ranges[name] = {known->begin, known->begin + std::max<std::int64_t>(known->extent, 1) - 1};
  }
  const ir::Range range = ir::range_of(named, ranges);
  if (!range.minimum || !range.maximum) return std::nullopt;
  return range;
}

/// The quotient of a sum whose outer part moves in whole steps of the divisor, or whose inner part does not
/// reach the next one: rows of a block, by the group that they belong to.
Span reach_of_quotient(const ir::Binary& quotient, const ir::InnerLoops& loops,
                       const Coordinates& coordinates) {
  const std::int64_t* divisor = ir::integer_value(quotient.right);
  if (divisor == nullptr || *divisor < 1) return {};
  ir::Linear outer, inner;
  const ir::Linear sum = ir::linear(quotient.left);
  for (const ir::Linear::Term& term : sum.terms)
    (uses_any(term.atom, loops) ? inner : outer).terms.push_back(term);
  inner.constant = sum.constant;
  const auto range = inner_range(inner.expr(), loops, coordinates);
  if (!range) return {};
  const std::int64_t steps = ir::floor_divide(*range->minimum, *divisor);
  const std::int64_t within = *range->maximum - steps * *divisor;
  const bool whole_steps =
      std::ranges::all_of(outer.terms, [&](const auto& term) { return term.coefficient % *divisor == 0; });
  const bool stays = std::ranges::all_of(outer.terms, [&](const auto& term) {
    return *divisor % term.coefficient == 0 && within < std::abs(term.coefficient);
  });
  if (!whole_steps && !stays) return {};
  outer.constant = steps * *divisor;
  return {outer.expr() / quotient.right, within / *divisor};
}

/// The smallest value of a term, and how much larger the largest is.
Span reach_of(const ir::Linear::Term& term, const ir::InnerLoops& loops, const Coordinates& coordinates) {
  if (term.coefficient > 0 && ir::as_binary(term.atom, ir::BinaryOperator::remainder) != nullptr) {
    const auto range = inner_range(term.atom, loops, coordinates);
    if (!range) return {};
    return {*range->minimum * term.coefficient, (*range->maximum - *range->minimum) * term.coefficient};
  }
  if (const auto* quotient = ir::as_binary(term.atom, ir::BinaryOperator::divide);
      quotient != nullptr && term.coefficient > 0) {
    const Span reach = reach_of_quotient(*quotient, loops, coordinates);
    const Expr scale = term.coefficient;
    if (reach.begin.defined()) return {reach.begin * scale, reach.extent * scale};
  }
  if (reads_inner_data(term.atom, loops)) {
    const auto range = inner_range(term.atom * term.coefficient, loops, coordinates);
    if (!range) return {};
    return {*range->minimum, *range->maximum - *range->minimum};
  }
  if (term.coefficient < 0) return {};
  Expr scale = term.coefficient;
  Expr atom = term.atom;
  if (const auto* product = ir::as_binary(atom, ir::BinaryOperator::multiply);
      product != nullptr && !uses_any(product->right, loops)) {
    scale = scale * product->right;
    atom = product->left;
  }
  const auto* v = atom.as<ir::Variable>();
  if (v == nullptr || loops.find(v->name) == loops.end()) return {};
  const ir::For& loop = loops.at(v->name);
  if (uses_any(loop.begin, loops)) return {};
  return {loop.begin * scale, (loop.extent - 1) * scale};
}

}  // namespace

Span span_of(const Expr& index, const Expr& whole, const ir::InnerLoops& loops,
             const Coordinates& coordinates) {
  ir::Linear outer;
  Expr extent = 1;
  Expr begin = 0;
  const ir::Linear sum = ir::linear(index);
  outer.constant = sum.constant;
  for (const ir::Linear::Term& term : sum.terms) {
    if (!uses_any(term.atom, loops)) {
      outer.terms.push_back(term);
      continue;
    }
    const Span reach = reach_of(term, loops, coordinates);
    if (!reach.extent.defined()) {
      if (reads_inner_data(index, loops)) return {0, whole};
      return {};
    }
    begin = begin + reach.begin;
    extent = extent + reach.extent;
  }
  return {ir::linear(outer.expr() + begin).expr(), extent};
}

std::optional<Span> joined(const Span& a, const Span& b) {
  if (ir::same(a.begin, b.begin) && ir::same(a.extent, b.extent)) return a;
  const Expr difference = ir::linear(b.begin - a.begin).expr();
  const std::int64_t* distance = ir::integer_value(difference);
  const std::int64_t* of_a = ir::integer_value(a.extent);
  const std::int64_t* of_b = ir::integer_value(b.extent);
  if (distance == nullptr || of_a == nullptr || of_b == nullptr) return std::nullopt;
  if (*distance < 0) return Span{b.begin, std::max(*of_a - *distance, *of_b)};
  return Span{a.begin, std::max(*of_a, *distance + *of_b)};
}

}  // namespace weft::steps
