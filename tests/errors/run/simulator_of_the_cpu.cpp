// expect: choosing a simulated device
// expect: a GPU target such as sm_90a
// fix:   Device::simulator("sm_90a");
#include <weft/backends/runtime/device.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(simulator_of_the_cpu) {
  Device::simulator("cpu");  // here
}
