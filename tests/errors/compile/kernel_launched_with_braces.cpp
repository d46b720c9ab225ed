// expect: weft: there is no launch
// expect: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}})
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, Array& b, Array& c) {
  kernel.launch(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});  // here
}
