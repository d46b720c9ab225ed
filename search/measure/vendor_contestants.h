// The vendor's libraries as contestants.
#pragma once

#include <weft/search/measure/contestants.h>

#include <vector>

namespace weft {

/// Those of a suite on a CUDA device, the baseline first; one whose library is not there says why.
/// `arithmetic` is that of the suite's element type. `libraries` must outlive the result. cuDNN has images
/// with channels first and with channels last, whatever the layout of the suite's problem, and is timed with
/// the faster; it has none with the batch innermost, and then says so in its name.
std::vector<Contestant> vendor_contestants(const Suite& suite, const Libraries& libraries,
                                           DenseType arithmetic);

/// The workload's convolution as a library takes it, at the addresses of the operands.
DenseConvolution dense_convolution(const Operands& operands, DenseType type, bool channels_last);

/// Weights for contestants that cannot hold those of a structured case: the same shape and dense operand.
Workload with_dense_weights(const SuiteCase& chosen, const Workload& workload);
/// Random blocks at the same sparsity, of the size of a group and at most 64.
Workload with_block_weights(const SuiteCase& chosen, const Workload& workload);
/// The dense ones pruned to 2:4. UserError unless the case asks for 50 % or has a pattern.
Workload with_two_of_four_weights(const SuiteCase& chosen, const Workload& workload);

}  // namespace weft
