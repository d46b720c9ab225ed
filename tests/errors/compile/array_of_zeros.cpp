// expect: weft: there is no zeros
// expect: Array(DType::f32, {64, 96})
// fix: return Array(DType::f32, {64, 96});
#include <weft/formats/array.h>

using namespace weft;

Array program() {
  return Array::zeros(DType::f32, {64, 96});  // here
}
