// expect: the kernel was made for other weights
// expect: no size of its sparse operand is given at launch
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_other_weights) {
  LaunchedProduct launched;
  Arguments others = launched.arguments;
  others.weights = test::spmm_schedule("cpu").shared_weights();
  launched.kernel(Device::cpu(), others);  // here
}
