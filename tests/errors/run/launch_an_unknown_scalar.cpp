// expect: no scalar of that name
// expect: alpha
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_an_unknown_scalar) {
  LaunchedProduct launched;
  launched.kernel(Device::cpu(), {launched.arguments.tensors, {{"alpha", 2.0}}});  // here
}
