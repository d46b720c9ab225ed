// The Shfl-BW search: which rows to put together so that columns of them are worth keeping.
#pragma once

#include <weft/formats/prune/prune.h>
#include <weft/formats/prune/units.h>

#include <cstdint>

namespace weft::pruning {

struct ShuffledVectors {
  Grouping grouping;
  Chosen chosen;  ///< what is kept in that grouping
};

/// As choose_weights says, for groups of `height` rows and `budget` places in all.
ShuffledVectors search_shfl_bw(const Scores& scores, std::int64_t height, std::int64_t budget,
                               const PruneOptions& options);

}  // namespace weft::pruning
