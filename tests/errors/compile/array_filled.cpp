// expect: weft: there is no fill
// expect: std::ranges::fill(array.as<f32>(), value)
// fix: std::ranges::fill(array.as<f32>(), 1.0f);
#include <weft/formats/array.h>

#include <algorithm>

using namespace weft;

void program(Array& array) {
  array.fill(1.0f);  // here
}
