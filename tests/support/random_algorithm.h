// Random legal algorithms, wilder than products and convolutions, with their operands.
#pragma once

#include "support/random_schedule.h"

namespace weft::test {

/// Up to three output indices and two that are summed over, in any order in the operands; operands indexed by
/// indices, by multiples and sums of them, and by what lies beyond their ends on either side; strides, open
/// sizes, scalars, epilogues; weights in every format, or none (`weights` is null then).
RandomProblem random_algorithm(std::mt19937_64& random);

}  // namespace weft::test
