// expect: weft: random_array is given its shape before its element type
// expect: random_array(DType::f32, {64, 96}, 1)
// fix: return random_array(DType::f32, {64, 96}, 1);
#include <weft/formats/random.h>

using namespace weft;

Array program() {
  return random_array({64, 96}, DType::f32, 1);  // here
}
