// Random algorithms as values, which no template limits.
#pragma once

#include <weft/dsl/algorithm.h>

#include <map>
#include <string>

#include "random_calls/dice.h"

namespace weft::test {

struct RandomAlgorithm {
  Algorithm algorithm;
  std::map<std::string, std::int64_t> sizes;  ///< sizes of the extents that are left to the launch
};

/// One to three output indices and as many that are summed over, in at most some ten thousand products:
/// batches, repeated indices, sums of indices that leave the tensor, constants, strides, open sizes with
/// multiples, epilogues, names of the program's own. Legal.
RandomAlgorithm random_algorithm(Dice& dice);

/// One thing in it another than it was; often illegal.
void spoil(Algorithm& algorithm, Dice& dice);

/// The shape that an operand's array has; of strided ones the elements up to the last.
std::vector<std::int64_t> shape_of(const Operand& operand, const std::map<std::string, std::int64_t>& sizes);

/// Every field, for a reader.
std::string description(const Algorithm& algorithm);

}  // namespace weft::test
