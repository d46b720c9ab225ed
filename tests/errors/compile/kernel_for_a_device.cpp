// expect: weft: compile is not given what it takes
// expect: a device is said where the kernel is called
// fix: return compile(s);
#include <weft/backends/kernel.h>

using namespace weft;

Kernel program(const Schedule& s) {
  return compile(s, Device::cpu());  // here
}
