// expect: weft: an operand is not the address of an Array
// expect: Array b, not const, and &b
// fix: Array taken = b;
// fix: kernel(Device::cpu(), {{{"B", &taken}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, const Array& b, Array& c) {
  kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});  // here
}
