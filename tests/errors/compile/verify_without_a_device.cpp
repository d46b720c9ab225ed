// expect: weft: verify is not given what it takes
// expect: verify(kernel, Device::cpu(), {{{"B", &b}
// fix: return verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/search/measure/verify.h>

using namespace weft;

Verification program(const Kernel& kernel, Array& b, Array& c) {
  return verify(kernel, {{{"B", &b}, {"C", &c}}, {}});  // here
}
