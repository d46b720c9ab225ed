// expect: the device does not run this kernel
// expect: Device::simulator("sm_90a") (--device sim:sm_90a)
// fix: verify(kernel, Device::simulator("sm_90a"), product.arguments);
#include <weft/weft.h>

#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(verify_on_another_device) {
  LaunchedProduct product;
  const Kernel kernel = compile(test::spmm_schedule("sm_90a"), {.assemble = false});
  verify(kernel, Device::simulator("sm_80"), product.arguments);  // here
}
