// The recipe for weights that keep two of four, on sparse tensor cores.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>

#include <memory>

namespace weft {

/// As shfl_bw: the rows of B that a group of rows keeps, four of each M, are stitched together in shared
/// memory while they are copied; values and codes come with them. Tensor cores multiply with two of each
/// four, by mma.sp, or on sm_90a, for groups of 64 rows and more, by wgmma.sp. In weights of the format n_m
/// the rows of B are those that follow one another. After Castro et al., "VENOM: A Vectorized N:M Format for
/// Unleashing the Power of Sparse Tensor Cores" (SC 2023). Convolutions as shfl_bw has them.
///
/// `weights` are in n_m, v_n_m, mixed, column_quads or hb_ell:pairs=1, f16 or bf16, or in n_m, v_n_m or
/// column_quads of products e4m3, e5m2 or i8; UserError for others, and for algorithms of another form.
/// Blocks of mixed that keep all are multiplied by mma.sync or wgmma: in the same loop, or, where warps have
/// roles, in one before it. A CPU and sm_75 get their default schedule, as long as no knob is given. The
/// knobs are those of shfl_bw, with their sparse instructions: mma_m16n8k16 stands for mma.sp.m16n8k32, wgmma
/// for wgmma.sp; tile_k is 64 or 128, places before two of four are kept. Weights in column_quads, which
/// names no V, get on sm_90a the 64, 128 or 256 rows with which the block that has most tiles is done first.
/// UserError for knobs that do not fit.
Schedule v_n_m(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const ShflBwKnobs& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(v_n_m, const ShflBwKnobs& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(
    v_n_m,
    ".tile_m, .tile_n, .tile_k, .stages, .instruction, .warp_m, .warp_n, .groups, .line, .producers, "
    ".producer_registers, .consumer_registers, .blocks and .cluster in this order, such as {.tile_m "
    "= 64, .stages = 3}")

}  // namespace weft
