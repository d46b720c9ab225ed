// Conditions joined by "and", taken apart, and what they speak of.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <optional>
#include <vector>

namespace weft::ir {

/// The conditions that hold together where `condition` does, none of them a conjunction.
std::vector<Expr> conjuncts_of(const Expr& condition);

/// What holds where all conditions do.
Expr all_of(const std::vector<Expr>& conditions);
/// `left < right` or `left <= right`; else null.
const Binary* inequality(const Expr& expr);

/// A comparison that keeps an index inside of its dimension.
struct Bound {
  Expr index;
  Expr end;  ///< index < end; undefined: 0 <= index
};
std::optional<Bound> bound_of(const Expr& condition);

/// The same bound of what is divided, where the index is a quotient.
Bound undivided(Bound bound);

/// Whether the expressions have a variable or a load in common, besides those inside of loads: then what one
/// says may bound the other.
bool share_an_atom(const Expr& a, const Expr& b);

}  // namespace weft::ir
