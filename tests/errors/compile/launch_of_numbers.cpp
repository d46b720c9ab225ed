// expect: weft: an operand is not the address of an Array
// expect: Array b = Array::of(values).reshaped({64, 32})
// fix: Array array = Array::of(b).reshaped({64, 32});
// fix: kernel(Device::cpu(), {{{"B", &array}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>

using namespace weft;

void program(const Kernel& kernel, const std::vector<float>& b, Array& c) {
  kernel(Device::cpu(), {{{"B", b}, {"C", &c}}, {}});  // here
}
