// expect: rows of B.stitched are copied 2 bytes at a time
// expect: B with an even number of columns, Extent::any("N", 2)
// fix: tensor_product(Extent::any("N", 2), 64).specialize_warps(producers = 4);
#include "illegal_program.h"
#include "illegal_tensor_product.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(producers_of_any_columns) {
  tensor_product(Extent::any("N"), 64).specialize_warps(producers = 4);  // here
}
