// expect: an array does not have the element that is asked for
// expect: element 24 of an array of [6, 4]
// expect: 0 to 23
// fix: weights.set(23, 1);
#include <weft/formats/array.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(array_without_that_element) {
  Array weights(DType::f32, {6, 4});
  weights.set(24, 1);  // here
}
