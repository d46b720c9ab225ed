// expect: weft: a device is a text
// expect: Device::cuda(1)
// fix: return Device::cuda(1);
#include <weft/backends/kernel.h>

using namespace weft;

Device program() {
  return Device::cuda("cuda:1");  // here
}
