// expect: weft: a simulated device is named by a number
// fix: return Device::simulator("sm_80");
#include <weft/backends/runtime/device.h>

using namespace weft;

Device program() {
  return Device::simulator(80);  // here
}
