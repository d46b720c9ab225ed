// expect: asking the simulator
// expect: the device cpu
// fix:   simulator::options(Device::simulator("sm_90a"));
#include <weft/backends/simulator/device.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(options_of_no_simulator) {
  simulator::options(Device::cpu());  // here
}
