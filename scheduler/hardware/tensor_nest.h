// The loop nest that a tensor instruction can do: sum[m, n] += left[m, k] * right[k, n]; or, where the left
// factor keeps two of each four k, right[kept_slot(codes, m, k), n], or with kept_slot_behind
// (kept_blocks.h).
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace weft {

struct TensorNest {
  ir::For rows, columns, depth;  ///< bodies unset
  ir::Load left, right;
  ir::Expr slot;  ///< the call of kept_slot in `right`; of either row; undefined where it has none
  ir::BufferRef sum;
  std::vector<std::size_t> kept;  ///< dimensions of the sum that are not indexed by rows or columns
};

/// The expression with `slot` for what calls of kept_slot would say.
ir::Expr with_slot(const ir::Expr& expr, const ir::Expr& slot);
/// The call of kept_slot in an index of the load, undefined where there is none.
ir::Expr kept_slot_of(const ir::Load& load);

/// `loops` around the store, outermost first; those of warps, lanes and threads are none of the three.
/// Nothing when the nest has another form.
std::optional<TensorNest> tensor_nest_of(const std::vector<ir::For>& loops, const ir::Store& store);

}  // namespace weft
