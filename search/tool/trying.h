// The fastest of several ways, by the device itself.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/search/tool/options.h>

#include <cstddef>

namespace weft::tool {

/// Compiles the ways that are expected to be the fastest, runs each into a poisoned output, compares it with
/// the reference and times those that are right; each is told on stderr. The fastest. Of one try it is
/// kernel_of() without a run. UserError where --schedule or the knobs of --recipe leave nothing to try, and
/// where every way is refused; RuntimeError where none is right.
Kernel fastest_kernel(const Problem& problem, const ProblemOptions& options, const Device& device,
                      const Target& target, const KernelOptions& kernel_options, std::size_t tries);

}  // namespace weft::tool
