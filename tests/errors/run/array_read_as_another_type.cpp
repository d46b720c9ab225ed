// expect: the elements of an array are read as another type
// expect: found:    f64, of an array of f32 [6, 4]
// expect: as<T>() with the type of f32
// fix: weights.as<float>();
#include <weft/formats/array.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(array_read_as_another_type) {
  Array weights(DType::f32, {6, 4});
  weights.as<double>();  // here
}
