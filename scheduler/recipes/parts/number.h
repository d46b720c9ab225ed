// What formulas of shape are written with, once: for the numbers of a recipe, for expressions over the knobs
// of a space, and for the doubles of a bound.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/node.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

namespace weft::shapes {

using ir::equal, ir::maximum, ir::minimum, ir::select;

template <class Number>
concept Plain = std::integral<Number> || std::floating_point<Number>;

/// What a comparison of such numbers is.
template <class Number>
using Condition = std::conditional_t<std::same_as<Number, ir::Expr>, ir::Expr, bool>;

/// Whether nothing makes it true: a condition of a knob that the space lacks, which is undefined, or false.
inline bool is_left_out(const ir::Expr& condition) {
  return !condition.defined();
}
inline bool is_left_out(bool condition) {
  return !condition;
}

template <Plain Number>
Number maximum(Number a, Number b) {
  return std::max(a, b);
}
template <Plain Number>
Number minimum(Number a, Number b) {
  return std::min(a, b);
}
template <Plain Number>
bool equal(Number a, Number b) {
  return a == b;
}
template <Plain Number>
Number select(bool condition, Number yes, Number no) {
  return condition ? yes : no;
}

}  // namespace weft::shapes
