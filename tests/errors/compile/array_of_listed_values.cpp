// expect: weft: an array is made of its values alone
// fix: return Array::of(std::vector{1.0f, 2.0f});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array::of({1.0f, 2.0f});  // here
}
