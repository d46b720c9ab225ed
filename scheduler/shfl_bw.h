// The recipe for row groups on tensor cores.
#pragma once

#include <weft/scheduler/schedule.h>

#include <cstdint>
#include <memory>

namespace weft {

/// Numbers of the recipe; 0 leaves one to it.
struct ShflBwKnobs {
  std::int64_t columns = 0;  ///< of the output, of a tile: 64, 128, 256 or 512
  std::int64_t stages = 0;   ///< tiles of A and B under way, 1 to 8
  std::int64_t blocks = 0;   ///< that go through the tiles (sm_90a)
};

/// The rows of B that a group of rows keeps are stitched together in shared memory while they are copied, and
/// tensor cores multiply them with the group's values; what is stored goes to the rows that the format names.
/// After Huang et al., "Shfl-BW: Accelerating Deep Neural Network Inference with Tensor-Core Aware Weight
/// Pruning" (DAC 2022), section IV. On sm_90a, groups of 64 rows and more are multiplied by wgmma; elsewhere,
/// and for smaller groups, by mma.sync. Copies run ahead in rings from sm_80 on; on sm_90a warps of their own
/// start them, and blocks go through several tiles.
///
/// `weights` are in vector_wise or shfl_bw, f16 or bf16. What has no such form (groups of 8 rows, f32,
/// another format or algorithm, bf16 on sm_75, a CPU) gets its default schedule. UserError for knobs that do
/// not fit.
Schedule shfl_bw(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const ShflBwKnobs& knobs = {});

}  // namespace weft
