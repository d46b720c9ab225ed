// How evenly a schedule shares out the entries of its weights.
#pragma once

#include <weft/scheduler/program/schedule.h>

#include <cstdint>
#include <optional>

namespace weft {

/// Entries are counted once for each block of rows, whatever the number of columns.
struct Balance {
  std::int64_t blocks = 1;  ///< thread blocks that have entries of their own
  double of_blocks = 1;     ///< entries of the fullest block over the mean
  std::int64_t groups =
      1;  ///< groups of threads of a block, likewise: those of split_k, warps with rows of their own
  double of_groups = 1;  ///< entries of the fullest group of a block over the block's mean, blocks weighted
                         ///< by their entries
};

/// The balance of the schedule's program as it is. Nothing where no operand is sparse, where no loop that
/// shares out entries is bound, or where it takes too long to count.
std::optional<Balance> balance_of(const Schedule& schedule);

}  // namespace weft
