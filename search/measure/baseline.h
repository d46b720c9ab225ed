// What a tuned kernel is compared with on the same device: the dense product, and the vendor's sparse ones.
#pragma once

#include <weft/search/measure/trial.h>

#include <optional>
#include <vector>

namespace weft {

/// Plain products on a CUDA device: the vendor's contestants that are there and right, the dense one at the
/// precision of the weights first; weights in groups of rows have a dense product of random weights
/// (vendor_contestants.h). Elsewhere, and in the simulator by its time model, weft's own kernel for the
/// weights with every element stored, which no library is. Empty where nobody could. `trusted` receives the
/// dense product of the problem's weights where `check` asks for one.
std::vector<Baseline> measure_baselines(TrialProblem& problem, const OutputCheck& check, const Device& device,
                                        const Target& target, const MeasureOptions& options,
                                        std::optional<Array>& trusted);

}  // namespace weft
