// expect: weft: the result of a call is used, and a kernel gives nothing back
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  c = kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});  // here
}
