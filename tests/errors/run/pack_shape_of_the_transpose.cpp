// expect: the weights of a layer cannot be used
// expect: the shape
// expect: found:    [64, 96] for 96 rows and 64 columns
// expect: as [96, 64] has
// fix: weights.shape = {96, 64};
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(pack_shape_of_the_transpose) {
  WeightMatrix weights = from_dense(Array(DType::f32, {96, 64}), "a layer");
  weights.shape = {64, 96};       // there
  pack(weights, formats::csr());  // here
}
