// expect: weft: an array is made of integers alone
// expect: found: its shape, or its values
// fix: return Array(DType::f32, {64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array({64, 96});  // here
}
