// expect: rows of B.stitched are copied 2 bytes at a time
// expect: B with 66 columns in place of 65
// fix: tensor_product(66, 64).specialize_warps(producers = 4);
#include "illegal_program.h"
#include "illegal_tensor_product.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(producers_of_odd_columns) {
  tensor_product(65, 64).specialize_warps(producers = 4);  // here
}
