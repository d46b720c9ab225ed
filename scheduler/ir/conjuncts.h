// Conditions joined by "and", taken apart, and what they speak of.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <vector>

namespace weft::ir {

/// The conditions that hold together where `condition` does, none of them a conjunction.
std::vector<Expr> conjuncts_of(const Expr& condition);

/// Whether the expressions have a variable or a load in common, besides those inside of loads: then what one
/// says may bound the other.
bool share_an_atom(const Expr& a, const Expr& b);

}  // namespace weft::ir
