// expect: weft: there is no reshape
// fix: return std::move(array).reshaped({2, 2});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program(Array& array) {
  return array.reshape({2, 2});  // here
}
