// expect: an array has an impossible shape
// expect: found:    [6, -4]
// expect: extents of at least 0
// fix: Array(DType::f32, {6, 4});
#include <weft/formats/array.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(array_of_a_negative_size) {
  Array(DType::f32, {6, -4});  // here
}
