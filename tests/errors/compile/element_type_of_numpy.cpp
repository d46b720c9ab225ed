// expect: weft: there is no DType::float32
// expect: accepted: DType::f32
// fix: return Array(DType::f32, {64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array(DType::float32, {64, 96});  // here
}
