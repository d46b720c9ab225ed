// expect: operand B has another shape
// expect: [100, 20]
// expect: [20, 100]
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_a_turned_array) {
  LaunchedProduct launched;
  Array turned(DType::f32, {100, 20});
  launched.kernel(Device::cpu(), {{{"B", &turned}, {"C", &launched.c}}, {}});  // here
}
