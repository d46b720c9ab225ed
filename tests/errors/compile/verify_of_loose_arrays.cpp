// expect: weft: a kernel is not called with what it takes; found: arrays by name without braces
// fix: return verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/search/measure/verify.h>

using namespace weft;

Verification program(const Kernel& kernel, Array& b, Array& c) {
  return verify(kernel, Device::cpu(), {{"B", &b}, {"C", &c}});  // here
}
