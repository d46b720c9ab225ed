// expect: the row offsets
// expect: found:    6 offsets for 6 rows
// expect: 7 offsets, the first of them 0
// fix: weights.row_begin = {0, 1, 1, 1, 1, 1, 1};
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(pack_offsets_left_out) {
  WeightMatrix weights;
  weights.shape = {6, 4};
  weights.rows = 6;
  weights.columns = 4;
  weights.column = {2};
  weights.values = Array(DType::f32, {1});
  weights.row_begin = {0, 0, 0, 0, 0, 0};  // there
  pack(weights, formats::csr());           // here
}
