// expect: weft: a device is a text
// expect: Device::cpu()
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  kernel("cpu", {{{"B", &b}, {"C", &c}}, {}});  // here
}
