// One problem with its operands, ready to be computed by anybody.
#pragma once

#include <weft/backends/reference.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/search/measure/real_weights.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/measure/suite.h>

#include <memory>
#include <optional>
#include <string>

namespace weft {

/// Weights and the dense operand of one problem, on the host. Immutable once made.
struct Workload {
  SuiteProblem problem;
  Algorithm algorithm;  ///< C = A B, or the convolution with NCHW images over all channels; no epilogue
  DType dtype = DType::f32;
  WeightMatrix matrix;
  std::optional<RowGroups> groups;     ///< the groups of Shfl-BW weights
  std::optional<PairPattern> pattern;  ///< pattern of weights that keep two of four
  std::int64_t block = 0;              ///< size of weights in blocks
  std::string source;                  ///< the file of the weights, or "synthetic, seed 12"
  std::uint64_t seed = 0;              ///< seed of what was drawn
  std::shared_ptr<const Array> b;

  /// An output of the right shape, zeros.
  Array empty_output() const;
  /// Multiplications and additions of the stored weights.
  double operations() const;
  /// Bytes that any kernel moves: stored values, the dense operand and the output, once each.
  double bytes() const;
};

/// Weights of that structure and a normal dense operand where the case has groups or a pattern. Otherwise the
/// weights from `real` where it has the shape and the sparsity, else drawn like a layer of a pruned network;
/// `copy` is 0 for the weights themselves, and from 1 on gives the same positions other values, so that a
/// kernel with its values in its code is another kernel. What is drawn is drawn with the case's seed, or one
/// that follows from shape and sparsity. UserError for a problem of 2^31 weights or more, as
/// convolution_algorithm() and check() throw it, RuntimeError when memory or the file fail.
Workload make_workload(const SuiteCase& chosen, DType dtype, const RealWeights& real);
Workload copy_of(const Workload& workload, int copy);
/// The workload's algorithm with its images and results in that layout; a product's own.
Algorithm algorithm_in(const Workload& workload, ImageLayout layout);
/// The same problem and dense operand with other weights of the same shape.
Workload with_weights(const Workload& workload, WeightMatrix matrix, std::string source);

/// The time below which no kernel computes the workload, in microseconds: its bytes or its operations, the
/// larger.
double limit_microseconds(const Workload& workload, const Ceilings& ceilings);

/// The same for kernels of weights in groups of rows, in microseconds.
struct GroupLimits {
  /// Tensor cores multiply whole tiles: the last group filled up with rows, lists of kept columns filled up
  /// to a multiple of 16 and columns to one of 8, what an instruction takes at least. Sparse ones, for
  /// weights of a pattern, take 32 kept columns at least, at twice the rate.
  double tensor = 0;
  /// Every group gathers its kept rows of the dense operand from the L2 once, and its values, those of a
  /// pattern with two bits each. 0 for 2:4, which has no groups.
  double l2 = 0;
};
/// Nothing for weights without a structure.
std::optional<GroupLimits> group_limits(const Workload& workload, const Ceilings& ceilings);

}  // namespace weft
