// expect: weft: an array is copied to or from a device without itself behind its name
// fix: bound.download("C", c);
#include <weft/backends/kernel.h>

using namespace weft;

void program(const BoundKernel& bound, Array& c) {
  bound.download("C", &c);  // here
}
