// Kernels whose results have no rounding.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/formats/weight_matrix.h>
#include <weft/scheduler/program/schedule.h>

namespace weft::test {

/// Uneven rows of small integers, whose sums have no rounding, so many of them zeros.
WeightMatrix layer_of_integers(std::int64_t rows, std::int64_t columns, double sparsity, DType dtype);

/// Runs the schedule, on dense operands that are integers, by its meaning on the CPU and as PTX in the
/// simulator of its target, which sees races and memory that nobody wrote, warps in two orders. Every output
/// is poisoned first, where it is not read, and has to be the reference's to the last bit: the weights are
/// integers too. Scalars are 2.
void expect_exact(const Schedule& schedule, Emitter emitter = Emitter::llvm,
                  Arrivals arrivals = Arrivals::of_warps);

}  // namespace weft::test
