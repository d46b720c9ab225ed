// Which points of the space of row groups measured times speak for.
#pragma once

#include <weft/scheduler/recipes/parts/conditions.h>

#include <cstdint>

namespace weft {

/// Tiles with fewer columns are for products that have no more: they leave shared memory to weights under
/// way, and a processor has two of them.
inline constexpr std::int64_t least_columns_of_wide = 64;
inline ir::Expr is_narrow(const ir::Expr& columns_of_tile) {
  return columns_of_tile < least_columns_of_wide;
}

/// Preferences for weights in groups of so many rows on sm_90a, over the knobs of shfl_bw_space(). On an H200
/// they keep a point within 2 % of the best of nearly every product that was measured
/// (docs/measurements.md), and leave one in a hundred points.
void prefer_what_was_fast(Conditions& list, std::int64_t group_rows);

}  // namespace weft
