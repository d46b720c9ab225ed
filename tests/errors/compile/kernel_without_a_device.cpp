// expect: weft: a kernel is called without a device
// expect: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}})
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  kernel({{{"B", &b}, {"C", &c}}, {}});  // here
}
