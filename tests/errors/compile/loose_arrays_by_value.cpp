// expect: weft: a kernel is given arrays by value, and writes into them
// expect: found: arrays by value without braces of their own
// expect: {{{"B", &b}, {"C", &c}}, {}}
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  kernel(Device::cpu(), {{"B", b}, {"C", c}});  // here
}
