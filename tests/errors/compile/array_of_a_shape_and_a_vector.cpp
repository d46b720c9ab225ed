// expect: weft: an array is not made of an element type and a shape
// fix: return Array::of(values).reshaped({64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program(const std::vector<float>& values) {
  return Array({64, 96}, values);  // here
}
