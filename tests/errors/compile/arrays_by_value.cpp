// expect: weft: a kernel is given arrays by value, and writes into them
// expect: {{{"B", &b}, {"C", &c}}, {}}
// fix: return verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/search/measure/verify.h>

using namespace weft;

Verification program(const Kernel& kernel, Array& b, Array& c) {
  return verify(kernel, Device::cpu(), {{{"B", b}, {"C", c}}, {}});  // here
}
