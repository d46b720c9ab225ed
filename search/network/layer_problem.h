// A layer of a network as the search takes it.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/network/layer.h>
#include <weft/search/network/layer_classes.h>
#include <weft/search/network/network.h>
#include <weft/search/spaces/problems.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

/// How a linear layer's kernels on that target have their operands: on a GPU as the layer says, so that what
/// it costs to turn them over is in their times. On a processor packages turn them over
/// (backends/export/network_package.h).
ProductLayout layout_on(const NetworkLayer& layer, const Target& target);

/// The formats of a layer's search: those that were asked for and hold its weights, then those worth trying.
std::vector<Format> searched_formats(const WeightMatrix& weights, const Target& target,
                                     const std::vector<Format>& asked);

/// The problem of a layer with these weights: a product with `n` columns, with the layer's bias and
/// activation, and of weights of a byte with their scales and one for each column; a convolution has columns
/// and a layout of its own. Operands are drawn. Its records name the
/// layer, its file and its tensor. The weights are those of the kernel. UserError for a convolution whose
/// images are not known.
TrialProblem problem_of(const NetworkLayer& layer, std::shared_ptr<const WeightMatrix> weights,
                        std::int64_t n, ProductLayout layout);
/// The same without operands, for those who look for its records alone.
TrialProblem undrawn_problem_of(const NetworkLayer& layer, std::shared_ptr<const WeightMatrix> weights,
                                std::int64_t n, ProductLayout layout);

/// Has the problem's records say where in its network the layer stands (is_flag()), number `member` of the
/// class. `asked` are the columns that were asked for, of all linear layers.
void name_place(TrialProblem& problem, const Network& network, const LayerClass& layers, std::size_t member,
                const std::vector<std::int64_t>& asked);

/// Why no kernel can be looked for, for what the language has and the search has not; empty: one can.
std::string why_not_searched(const NetworkLayer& layer);

}  // namespace weft
