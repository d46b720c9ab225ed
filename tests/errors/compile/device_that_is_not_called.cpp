// expect: weft: a device is a function that is not called
// expect: Device::cpu()
// fix: return verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/search/measure/verify.h>

using namespace weft;

Verification program(const Kernel& kernel, Array& b, Array& c) {
  return verify(kernel, Device::cpu, {{{"B", &b}, {"C", &c}}, {}});  // here
}
