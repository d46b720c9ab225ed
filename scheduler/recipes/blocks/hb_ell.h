// The recipe for blocks in ELL on tensor cores.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace weft {

/// Numbers of the recipe; those without a value are left to it.
struct HbEllKnobs {
  /// Rows of a tile, 16 or, where every block is stored, 16 times a power of two up to `every`.
  std::optional<std::int64_t> tile_m = {};
  std::optional<std::int64_t> tile_n = {};  ///< columns of a tile
  std::optional<std::int64_t> tile_k = {};  ///< columns of A that are multiplied at a time, as tile_m
  std::optional<std::int64_t> warp_m = {};  ///< rows of a tile that a warp, or warpgroup, sums; as tile_m
  std::optional<std::int64_t> warp_n = {};  ///< columns of a tile that it sums
  std::optional<std::int64_t> stages = {};  ///< blocks of A, with their rows of B, under way: 1 to 8
  std::optional<std::int64_t> groups = {};  ///< groups of blocks that share a sum; 1: each makes its own
};

/// They by name.
std::span<const KnobField<HbEllKnobs>> hb_ell_knobs();

/// Algorithm 1 of Wu et al., "Generic, Sparse Tensor Core for Neural Networks", section III-B, on the tensor
/// cores that there are: a thread block has 16 rows of the result and goes through the stored blocks of its
/// block row; each becomes a dense tile in shared memory, and warps multiply it with their columns of the 16
/// rows of B that belong to it (mma.sync). Copies run ahead in a ring from sm_80 on. Where every block is
/// stored (hb_ell:every=8), a thread block has several block rows, which share the rows of B,
/// and multiplies several blocks of each at a time: B is read less often, and nothing is left out. On sm_90a
/// warpgroups multiply (wgmma) where a tile has 64 rows and 64 columns of A. Where there are few thread
/// blocks, several share a sum.
///
/// Weights in hb_ell:pairs=1 are multiplied two of four by sparse tensor cores, as v_n_m does.
///
/// Where B is infinite or not a number, so is the sum of every row that has an entry in the same block: zeros
/// of a stored block are multiplied like those of a dense matrix.
///
/// `weights` are in hb_ell with blocks of 16, f16 or bf16, and the algorithm is a product C[m, n] of A[m, k]
/// and B[k, n] with any epilogue, or, of hb_ell:pairs=1, a convolution; UserError for anything else. A CPU,
/// and bf16 on sm_75, gets its default schedule, as long as no knob is given. UserError for knobs out of
/// their ranges (recipe.cpp) and for those that do not fit, from the step that would follow them.
Schedule hb_ell(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                const HbEllKnobs& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(hb_ell, const HbEllKnobs& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(
    hb_ell,
    ".tile_m, .tile_n, .tile_k, .warp_m, .warp_n, .stages and .groups in this order, such as {.tile_n "
    "= 64, .stages = 3}")

}  // namespace weft
