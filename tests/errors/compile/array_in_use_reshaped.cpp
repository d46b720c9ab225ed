// expect: weft: an array is reshaped that is still in use
// fix: return Array(array).reshaped({2, 2});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program(Array& array) {
  return array.reshaped({2, 2});  // here
}
