// expect: weft: there is no get
// expect: the output c among the arrays
// fix: return c.get(0);
#include <weft/backends/kernel.h>

using namespace weft;

double program(const Kernel& kernel, Array& b, Array& c) {
  const auto result = kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  return result.get(0);  // here
}
