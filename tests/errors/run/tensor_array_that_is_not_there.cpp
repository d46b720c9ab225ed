// expect: does not have the array that is asked for
// expect: array columns
// expect: begin, column, values
// fix: packed.array("column");
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(tensor_array_that_is_not_there) {
  const SparseTensor packed = pack(from_dense(Array(DType::f32, {6, 4}), "made"), formats::csr());
  packed.array("columns");  // here
}
