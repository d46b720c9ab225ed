// The recipe for row groups on tensor cores.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace weft {

/// What multiplies the tiles.
enum class ShflBwInstruction : std::uint8_t {
  chosen,        ///< the recipe chooses
  mma_m16n8k8,   ///< mma.sync of warps; f16 alone
  mma_m16n8k16,  ///< the same, sm_80 and newer
  wgmma,         ///< instructions of warpgroups, sm_90a; with as many columns as fit
};

inline constexpr std::int64_t wgmma_number = number_of(ShflBwInstruction::wgmma);

/// Numbers of the recipe; those without a value are left to it.
struct ShflBwKnobs {
  std::optional<std::int64_t> tile_m =
      {};  ///< rows of a tile, a power of two: at most V, of which it is a part
  std::optional<std::int64_t> tile_n = {};  ///< columns of a tile
  std::optional<std::int64_t> tile_k = {};  ///< places of a tile, the format's k: 16, 32 or 64
  std::optional<std::int64_t> stages = {};  ///< tiles of A and B under way, 1 to 8
  ShflBwInstruction instruction = ShflBwInstruction::chosen;
  std::optional<std::int64_t> warp_m = {};  ///< rows of a tile that a warp sums, or a warpgroup
  std::optional<std::int64_t> warp_n = {};  ///< columns of those sums
  std::optional<std::int64_t> groups = {};  ///< groups of blocks that share a sum; 1: each makes its own; 0:
                                            ///< `blocks`, of which each gets the same share of all sums
  std::optional<std::int64_t> line = {};    ///< columns of the lines that results leave through
  std::optional<std::int64_t> producers =
      {};  ///< warps that copy for the others (sm_90 and newer); 0: all copy
  std::optional<std::int64_t> producer_registers = {};  ///< registers of a producing thread; 0: as they come
  std::optional<std::int64_t> consumer_registers = {};
  std::optional<std::int64_t> blocks = {};  ///< that go through the tiles; 0: each tile has one
  std::optional<std::int64_t> cluster =
      {};  ///< blocks with neighbouring columns that copy the values for one another (sm_90a); 1: none
  std::optional<std::int64_t> elements =
      {};  ///< 1: producers gather X [n, k] as it lies, element by element (sm_90 and newer, `producers` =
           ///< 4); 0: a launch in front transposes it. Left to the recipe, 1 only where no knob has a value.
           ///< Of elements of a byte 0 is for `producers` = 4, which turn words of X [k, n]; left to the
           ///< recipe, 1 up to 32 columns and where all warps copy
  std::optional<std::int64_t> promote = {};  ///< 1: sums of a tile_k are added to others in f32, unasked of
                                             ///< e4m3 and e5m2; 0: by the instruction
};

/// They by name.
std::span<const KnobField<ShflBwKnobs>> shfl_bw_knobs();

/// The rows of B that a group of rows keeps are stitched together in shared memory while they are copied, and
/// tensor cores multiply them with the group's values; what is stored goes to the rows that the format names.
/// After Huang et al., "Shfl-BW: Accelerating Deep Neural Network Inference with Tensor-Core Aware Weight
/// Pruning" (DAC 2022), section IV. On sm_90a, groups of 64 rows and more are multiplied by wgmma; elsewhere,
/// and for smaller groups, by mma.sync. Copies run ahead in rings from sm_80 on; on sm_90a warps of their own
/// start them, and blocks go through several tiles.
///
/// A convolution is a product too, whose columns are its pixels and images: any filter, stride, padding and
/// dilation. Where the images are innermost, C[f, p, q, b] and B[c, y, x, b], with a batch that is a multiple
/// of 8, it runs as fast as products do; other batches and layouts have no runs of 16 bytes: warps
/// have no roles, and what is not four bytes long is loaded and stored element by element, by tiles of 64
/// columns (scheduler/passes/own_places.h).
///
/// `weights` are in vector_wise or shfl_bw with groups of 16 rows and more, f16 or bf16, or in products of
/// two matrices e4m3, e5m2 or i8; UserError for others, and for algorithms of another form. A CPU, and bf16
/// on sm_75, gets its default schedule, as long as no knob is given. Other tiles than those of `weights` are
/// made by packing them anew. UserError for knobs out of their ranges (recipe.cpp) and for those that do not
/// fit, from the step that would follow them.
Schedule shfl_bw(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const ShflBwKnobs& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(shfl_bw, const ShflBwKnobs& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(
    shfl_bw,
    ".tile_m, .tile_n, .tile_k, .stages, .instruction, .warp_m, .warp_n, .groups, .line, .producers, "
    ".producer_registers, .consumer_registers, .blocks, .cluster, .elements and .promote in this order, such "
    "as "
    "{.tile_m "
    "= 64, .stages = 3}")

}  // namespace weft
