// expect: operand B is not given
// expect: a null pointer
// expect: an array of f32 [20, 100]
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_a_null_array) {
  LaunchedProduct launched;
  launched.kernel(Device::cpu(), {{{"B", nullptr}, {"C", &launched.c}}, {}});  // here
}
