// Random weights, formats and packed tensors, with and without something wrong in them.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>

#include <map>
#include <string>

#include "random_calls/dice.h"

namespace weft::test {

/// Whole numbers from -4 to 4 where the sparse operand has its places, in its element type.
WeightMatrix random_weights(const Algorithm& algorithm, const std::map<std::string, std::int64_t>& sizes,
                            Dice& dice);
/// One thing in it another than it was.
void spoil(WeightMatrix& weights, Dice& dice);
/// Every number that the matrix holds is a number.
bool is_finite(const WeightMatrix& weights);
std::string description(const WeightMatrix& weights);

/// Any format; one in eight with parameters that it may not have.
Format random_format(Dice& dice);

/// A tensor made by hand: one element of one array, or one part of what describes them, is another.
SparseTensor spoiled(const SparseTensor& tensor, Dice& dice);

}  // namespace weft::test
