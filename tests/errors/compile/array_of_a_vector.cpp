// expect: weft: an array is made of its values alone
// fix: Array array = Array::of(values).reshaped({64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program(const std::vector<float>& values) {
  Array array = values;  // here
  return array;
}
