// The recipe for hb_ell on the sparse tensor core that its paper proposes.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <cstdint>
#include <memory>

namespace weft {

/// Warps of a block, which make tiles of 16 x 16 of the output beside and below each other.
struct HbEllSwmmaKnobs {
  std::int64_t warps_m = 4;  ///< below each other
  std::int64_t warps_n = 4;  ///< beside each other; 16 warps are the 512 threads of the paper
};

/// They by name.
std::span<const KnobField<HbEllSwmmaKnobs>> hb_ell_swmma_knobs();

/// Algorithm 1 of Wu et al., "Generic, Sparse Tensor Core for Neural Networks": a warp makes a block of the
/// output, goes over the blocks of its block row, and multiplies each with the rows of B below it by the
/// instruction for its width. For a target that has these instructions, sm_70_swmma.
///
/// `weights` are in hb_ell, f16, and are packed anew where their widths are no multiples of 4 or blocks may
/// be empty. UserError for other weights, targets and algorithms than C[m, n] = sum of A[m, k] B[k, n] with
/// any epilogue.
Schedule hb_ell_swmma(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                      const HbEllSwmmaKnobs& knobs = {}, CallPlace place = {});

}  // namespace weft
