// expect: weft: there is no operator[]
// expect: .as<f32>()[i], .get(i) and .set(i, value)
// fix: return array.get(5);
#include <weft/formats/array.h>

using namespace weft;

double program(const Array& array) {
  return array[5];  // here
}
