// expect: weft: there is no run
// expect: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}})
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  Array result = kernel.run(b);  // here
}
