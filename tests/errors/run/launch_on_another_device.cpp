// expect: the device does not run this kernel
// expect: Device::simulator("sm_80")
// fix:   kernel.bind(Device::simulator("sm_80"), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_on_another_device) {
  LaunchedProduct launched;
  const Kernel kernel = compile(test::spmm_schedule("sm_80"), {.assemble = false});
  kernel.bind(Device::cpu(), launched.arguments);  // here
}
