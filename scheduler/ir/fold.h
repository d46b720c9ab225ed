// The algebra that is applied while expressions are built.
#pragma once

#include <weft/scheduler/ir/node.h>

namespace weft::ir {

/// The simpler equal of `left op right`, or undefined when there is none. Integers fold exactly. Floating
/// point operations never fold: x + 0.0 and 0.0 * x are not x and 0 for every x.
Expr fold(BinaryOperator op, const Expr& left, const Expr& right);

/// Division and remainder of integers rounded towards minus infinity, by a positive divisor.
std::int64_t floor_divide(std::int64_t a, std::int64_t b);
std::int64_t floor_remainder(std::int64_t a, std::int64_t b);

}  // namespace weft::ir
