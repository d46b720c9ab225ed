// The algebra that is applied while expressions are built.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace weft::ir {

/// The simpler equal of `left op right`, or undefined when there is none. Integers fold exactly. Floating
/// point operations never fold: x + 0.0 and 0.0 * x are not x and 0 for every x.
Expr fold(BinaryOperator op, const Expr& left, const Expr& right);

/// Division and remainder of integers rounded towards minus infinity, by a positive divisor.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

/// The value of `a op b` of integers, comparisons and logic 0 or 1; nothing where 64 bits do not hold it, or
/// it divides by less than 1. Here, since searches compute it at each of many thousand points.
inline std::optional<std::int64_t> computed(BinaryOperator op, std::int64_t a, std::int64_t b) {
  std::int64_t exact = 0;
  switch (op) {
    case BinaryOperator::add:
      return __builtin_add_overflow(a, b, &exact) ? std::nullopt : std::optional(exact);
    case BinaryOperator::subtract:
      return __builtin_sub_overflow(a, b, &exact) ? std::nullopt : std::optional(exact);
    case BinaryOperator::multiply:
      return __builtin_mul_overflow(a, b, &exact) ? std::nullopt : std::optional(exact);
    case BinaryOperator::divide: return b > 0 ? std::optional(floor_divide(a, b)) : std::nullopt;
    case BinaryOperator::remainder: return b > 0 ? std::optional(floor_remainder(a, b)) : std::nullopt;
    case BinaryOperator::minimum: return std::min(a, b);
    case BinaryOperator::maximum: return std::max(a, b);
    case BinaryOperator::exclusive_or: return a ^ b;
    case BinaryOperator::equal: return a == b;
    case BinaryOperator::not_equal: return a != b;
    case BinaryOperator::less: return a < b;
    case BinaryOperator::less_equal: return a <= b;
    case BinaryOperator::logical_and: return a != 0 && b != 0;
    case BinaryOperator::logical_or: return a != 0 || b != 0;
  }
  return std::nullopt;
}

}  // namespace weft::ir
