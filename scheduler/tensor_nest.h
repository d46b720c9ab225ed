// The loop nest that a tensor instruction can do: sum[m, n] += left[m, k] * right[k, n].
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Ends the names of the loops of a tensor operation's meaning.
inline const std::string tile_suffix = ".of_tile";

struct TensorNest {
  ir::For rows, columns, depth;  ///< bodies unset
  ir::Load left, right;
  ir::BufferRef sum;
  std::vector<std::size_t> kept;  ///< dimensions of the sum that are not indexed by rows or columns
};

/// `loops` around the store, outermost first; those of warps, lanes and threads are none of the three.
/// Nothing when the nest has another form.
std::optional<TensorNest> tensor_nest_of(const std::vector<ir::For>& loops, const ir::Store& store);

}  // namespace weft
