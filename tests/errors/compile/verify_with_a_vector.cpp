// expect: weft: an operand is not the address of an Array
// expect: Array b = Array::of(values).reshaped({64, 32})
// fix: Array array = Array::of(b).reshaped({64, 32});
// fix: return verify(kernel, Device::cpu(), {{{"B", &array}, {"C", &c}}, {}});
#include <weft/search/measure/verify.h>

using namespace weft;

Verification program(const Kernel& kernel, std::vector<float>& b, Array& c) {
  return verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});  // here
}
