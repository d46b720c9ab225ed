// expect: weft: an array is not made of an element type and a shape
// fix: return Array(DType::f32, {64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array(64, 96);  // here
}
