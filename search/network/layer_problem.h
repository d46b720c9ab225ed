// A layer of a network as the search takes it.
#pragma once

#include <weft/search/measure/trial_problem.h>
#include <weft/search/network/layer.h>

#include <cstdint>
#include <memory>

namespace weft {

/// The problem of a layer with these weights: a product with `n` columns, with the layer's bias and
/// activation; a convolution has columns of its own. Operands are drawn. Its records name the layer, its file
/// and its tensor. UserError for a convolution whose images are not known, and one in groups.
TrialProblem problem_of(const NetworkLayer& layer, std::shared_ptr<const WeightMatrix> weights,
                        std::int64_t n);

/// Why no kernel can be looked for, for what the language has and the search has not; empty: one can.
std::string why_not_searched(const NetworkLayer& layer);

}  // namespace weft
