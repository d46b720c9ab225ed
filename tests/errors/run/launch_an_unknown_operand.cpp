// expect: no dense operand of that name
// expect: did you mean B?
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_an_unknown_operand) {
  LaunchedProduct launched;
  launched.kernel(Device::cpu(), {{{"b", &launched.b}, {"C", &launched.c}}, {}});  // here
}
