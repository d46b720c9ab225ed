// expect: weft: an array is given its sizes one by one
// expect: Array(DType::f32, {64, 96})
// fix: return Array(DType::f32, {64, 96});
#include <weft/formats/array.h>

using namespace weft;

Array program() {
  return Array(DType::f32, 64, 96);  // here
}
