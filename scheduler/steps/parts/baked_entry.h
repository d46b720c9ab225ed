// One stored entry of the weights as bake_values writes it out.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <vector>

namespace weft::steps {

/// One stored entry of a block: sum[row] += value, or += value * shared.
struct BakedEntry {
  std::int64_t column = 0;
  std::int64_t row = 0;              ///< number in the row loop, from 0
  ir::Expr value;                    ///< the constant, or all of what is added where `shared` is undefined
  ir::Expr shared;                   ///< what rows with an entry in this column have in common
  std::vector<ir::Expr> conditions;  ///< that only the launch decides

  /// Takes what is added apart into a constant and the rest of the product.
  void take(const ir::Expr& added);
  bool has_finite_value() const;
};

/// In groups, in order of their first ones, of entries that multiply the same under the same conditions, so
/// that it is read once for them.
std::vector<std::vector<BakedEntry>> together_alike(std::vector<BakedEntry> entries);

/// Columns of a thread behind the last one need no branch: their sums are stored by nobody, so they may read
/// the last column instead. True when `shared` has been changed so that it may be read without the condition;
/// `columns`: the loops over a thread's columns.
bool without_condition(const ir::Expr& condition, ir::Expr& shared, const std::vector<ir::For>& columns);

}  // namespace weft::steps
