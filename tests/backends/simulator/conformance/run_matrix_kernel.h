// Running a matrix kernel on a device, simulated or not, and comparing what comes out.
#pragma once

#include <weft/backends/runtime/device.h>

#include <string>
#include <vector>

#include "matrix_kernels.h"

namespace weft::simulator::testing {

/// The words of `out` after the kernel ran on the device.
std::vector<std::uint32_t> run(const Device& device, const MatrixKernel& kernel);
/// The elements that are too far off, in words; empty when there are none. `tolerance`: see MatrixKernel.
std::string differences(const MatrixKernel& kernel, const std::vector<std::uint32_t>& out, double tolerance);

}  // namespace weft::simulator::testing
