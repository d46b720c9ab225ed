// expect: sm_81
// expect: accepted: sm_75, sm_80
// fix:   Device::simulator("sm_80");
#include <weft/backends/runtime/device.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(simulator_of_another_name) {
  Device::simulator("sm_81");  // here
}
