// What formulas of shape are written with, once: for the numbers of a recipe, for expressions over the knobs
// of a space, and for the doubles of a bound.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/node.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

namespace weft::shapes {

template <class Number>
concept Plain = std::integral<Number> || std::floating_point<Number>;

/// What a comparison of such numbers is.
template <class Number>
using Condition = std::conditional_t<std::same_as<Number, ir::Expr>, ir::Expr, bool>;

template <class Number>
Condition<Number> truth(bool value) {
  if constexpr (Plain<Number>)
    return value;
  else
    return ir::boolean(value);
}

template <Plain Number>
Number larger(Number a, Number b) {
  return std::max(a, b);
}
template <Plain Number>
Number smaller(Number a, Number b) {
  return std::min(a, b);
}
template <Plain Number>
bool equal(Number a, Number b) {
  return a == b;
}
template <Plain Number>
bool at_most(Number a, Number b) {
  return a <= b;
}
template <Plain Number>
Number chosen(bool condition, Number yes, Number no) {
  return condition ? yes : no;
}

inline ir::Expr larger(const ir::Expr& a, const ir::Expr& b) {
  return ir::maximum(a, b);
}
inline ir::Expr smaller(const ir::Expr& a, const ir::Expr& b) {
  return ir::minimum(a, b);
}
inline ir::Expr equal(const ir::Expr& a, const ir::Expr& b) {
  return ir::equal(a, b);
}
inline ir::Expr at_most(const ir::Expr& a, const ir::Expr& b) {
  return a <= b;
}
inline ir::Expr chosen(const ir::Expr& condition, const ir::Expr& yes, const ir::Expr& no) {
  return ir::select(condition, yes, no);
}

}  // namespace weft::shapes
