// One problem with its operands, ready to be computed by anybody.
#pragma once

#include <weft/backends/reference.h>
#include <weft/search/measure/real_weights.h>
#include <weft/search/measure/suite.h>

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// Weights and the dense operand of one problem, on the host. Immutable once made.
struct Workload {
  SuiteProblem problem;
  Algorithm algorithm;  ///< C = A B, or the convolution with NCHW images; no epilogue
  DType dtype = DType::f32;
  WeightMatrix matrix;
  std::string source;  ///< the file of the weights, or "synthetic, seed 12"
  std::shared_ptr<const Array> b;

  /// An output of the right shape, zeros.
  Array empty_output() const;
  /// Multiplications and additions of the stored weights.
  double operations() const;
  /// Bytes that any kernel moves: stored values, the dense operand and the output, once each.
  double bytes() const;
};

/// The weights from `real` where it has the shape and the sparsity, else drawn like a layer of a pruned
/// network; `copy` is 0 for the weights themselves, and from 1 on gives the same positions other values, so
/// that a kernel with its values in its code is another kernel. UserError for a problem of 2^31 weights or
/// more, as convolution_algorithm() and check() throw it, RuntimeError when memory or the file fail.
Workload make_workload(const SuiteCase& chosen, DType dtype, const RealWeights& real);
Workload copy_of(const Workload& workload, int copy);

/// Rates of a device that bound any kernel.
struct Ceilings {
  double bytes_a_second = 4.3e12;        ///< of an H200, measured by a copy
  double operations_a_second = 66.9e12;  ///< of its f32 units
};
Ceilings ceilings_of(DType dtype);

/// The time below which no kernel computes the workload, in microseconds: its bytes or its operations, the
/// larger.
double limit_microseconds(const Workload& workload, const Ceilings& ceilings);

}  // namespace weft
