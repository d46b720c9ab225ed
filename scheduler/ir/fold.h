// The algebra that is applied while expressions are built.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <optional>

namespace weft::ir {

/// The simpler equal of `left op right`, or undefined when there is none. Integers fold exactly. Floating
/// point operations never fold: x + 0.0 and 0.0 * x are not x and 0 for every x.
Expr fold(BinaryOperator op, const Expr& left, const Expr& right);

/// The value of `a op b` of integers, comparisons and logic 0 or 1; nothing where 64 bits do not hold it, or
/// it divides by less than 1.
std::optional<std::int64_t> computed(BinaryOperator op, std::int64_t a, std::int64_t b);

/// Division and remainder of integers rounded towards minus infinity, by a positive divisor.
std::int64_t floor_divide(std::int64_t a, std::int64_t b);
std::int64_t floor_remainder(std::int64_t a, std::int64_t b);

}  // namespace weft::ir
