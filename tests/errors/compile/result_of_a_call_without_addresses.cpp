// expect: weft: a kernel is given arrays by value, and writes into them
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  const Array result = kernel(Device::cpu(), {{{"B", b}, {"C", c}}, {}});  // here
}
