// expect: the weights of a list cannot be used
// expect: entry 1
// expect: row 2, column 3
// expect: a place inside 2 rows and 3 columns, counted from 0
// fix: from_coordinates(2, 3, {0, 1}, {0, 2}, values, "a list");
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(coordinates_counted_from_one) {
  const Array values(DType::f32, {2});
  from_coordinates(2, 3, {1, 2}, {1, 3}, values, "a list");  // here
}
