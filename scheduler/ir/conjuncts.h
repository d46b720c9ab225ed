// Conditions joined by "and", taken apart.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <vector>

namespace weft::ir {

/// The conditions that hold together where `condition` does, none of them a conjunction.
std::vector<Expr> conjuncts_of(const Expr& condition);

}  // namespace weft::ir
