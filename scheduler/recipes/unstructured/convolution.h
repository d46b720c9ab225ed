// sparsert's schedule of a convolution.
#pragma once

#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <string>

namespace weft {

/// The loops of a convolution of one image or several, in one group of channels or several, channels first or
/// last; empty names where the algorithm is something else, has sizes known only at launch, or lines too long
/// for the warps of a block.
struct ConvolutionLoops {
  std::string batch;  ///< empty: one image
  std::string filters, lines, pixels;
};

ConvolutionLoops convolution_loops(const Algorithm& algorithm);

/// The schedule of a convolution with those loops. UserError for knobs that do not fit the target.
Schedule sparsert_convolution(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                              const Target& target, const ConvolutionLoops& loops,
                              const SparseRtKnobs& knobs);

}  // namespace weft
