// expect: weft: an array is not made of an element type and a shape
// expect: found: the types beside Given
// fix: return Array::of(values).reshaped({64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program(const std::vector<float>& values) {
  return Array(values, {64, 96});  // here
}
