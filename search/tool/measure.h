// A kernel run, checked and timed on a device, next to the dense computation.
#pragma once

#include <weft/backends/runtime/timing.h>
#include <weft/search/measure/verify.h>
#include <weft/search/records/records.h>
#include <weft/search/tool/options.h>

#include <optional>
#include <string>

namespace weft::tool {

/// Times one kernel that has been bound.
Timing time_kernel(const Device& device, const BoundKernel& kernel);

/// The dense computation of the same problem on the same device.
struct DenseTime {
  std::string name;  ///< "cuBLAS f32", "OpenBLAS f32", "weft, dense"
  BaselineOf whose = BaselineOf::library;
  Timing timing;
  Verification verification;
};

/// A library of the device's where it has one and the problem is a matrix product, on a processor the fastest
/// that is right; else weft's own kernel for the weights with every element stored. Verified before it is
/// timed.
std::optional<DenseTime> time_dense(const Device& device, const Problem& problem);

/// Multiplications and additions of the stored weights, and of all weights.
double sparse_operations(const Problem& problem);
double dense_operations(const Problem& problem);

/// Billions of operations a second.
inline double giga_per_second(double operations, double microseconds) {
  return operations / microseconds / 1e3;
}

}  // namespace weft::tool
