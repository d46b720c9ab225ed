// expect: weft: an array is made of its values alone
// fix: return Array::of(std::vector{1.0f, 2.0f, 3.0f, 4.0f}).reshaped({2, 2});
#include <weft/formats/array.h>

using namespace weft;

Array program() {
  return {{1.0f, 2.0f}, {3.0f, 4.0f}};  // here
}
