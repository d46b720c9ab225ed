// Whether weights are what an algorithm's sparse operand wants.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>

#include <cstdint>
#include <vector>

namespace weft {

/// UserError when `weights` (null: there are none) do not have the shape or the element type of the sparse
/// operand, when their rows and columns are not the sizes of its output indices and of those that are summed
/// over, when there is one without weights or weights without one, for weights of any size in a format that
/// does not store row by row, and for what SparseTensor::check finds. Weights of another number of dimensions
/// are fine where these are a matrix or the operand is.
void check_weights(const Algorithm& algorithm, const SparseTensor* weights);
/// The same of weights before they are packed, whatever the format will be.
void check_weights(const Algorithm& algorithm, const WeightMatrix& weights);

/// The sizes that the dimensions of the sparse operand have with these weights. UserError where the weights
/// do not have its shape.
std::vector<std::int64_t> sizes_of_operand(const Algorithm& algorithm, const SparseTensor& weights);

}  // namespace weft
