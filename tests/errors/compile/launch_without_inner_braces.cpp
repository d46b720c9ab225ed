// expect: weft: a kernel is not called with what it takes; found: arrays by name without braces of their own
// expect: {{{"B", &b}, {"C", &c}}, {}}
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  kernel(Device::cpu(), {{"B", &b}, {"C", &c}});  // here
}
