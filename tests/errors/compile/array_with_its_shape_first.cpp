// expect: weft: an array is given its shape before its element type
// expect: Array(DType::f32, {64, 96})
// fix: return Array(DType::f32, {64, 96});
#include <weft/formats/array.h>

using namespace weft;

Array program() {
  return Array({64, 96}, DType::f32);  // here
}
