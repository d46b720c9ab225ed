// expect: weft: there is no from
// expect: Array::of(values)
// fix: return Array::of(values);
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program(const std::vector<float>& values) {
  return Array::from(values);  // here
}
