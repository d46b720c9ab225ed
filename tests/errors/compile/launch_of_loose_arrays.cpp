// expect: weft: a kernel is not called with what it takes; found: the types beside Given
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  kernel(b, c);  // here
}
