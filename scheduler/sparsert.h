// SparseRT's schedule: the weights compiled into the instruction stream. A recipe: it calls steps, as a user
// would.
#pragma once

#include <weft/scheduler/schedule.h>

namespace weft {

/// How the recipe cuts the output; 0 leaves a number to it.
struct SparseRtKnobs {
  std::int64_t rows = 0;     ///< of a block: its accumulators, a register each
  std::int64_t threads = 0;  ///< of a block: its columns
};

/// Wang, SparseRT: Accelerating Unstructured Sparsity on GPUs for Deep Learning Inference, PACT 2020, section
/// 3: a block takes some rows and one column a thread; the values and coordinates of its rows are constants
/// of its code. For GPUs and a product with one row and one column index (SpMM, linear layers) of up to
/// 30,000 stored entries; everything else gets default_schedule. Rows are chosen so that a block's code holds
/// about 300 entries, which stays in the instruction caches.
Schedule sparsert(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const SparseRtKnobs& knobs = {});

}  // namespace weft
