// expect: operand B has another element type
// expect: f16
// expect: f32
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_another_type) {
  LaunchedProduct launched;
  Array halves(DType::f16, {20, 100});
  launched.kernel(Device::cpu(), {{{"B", &halves}, {"C", &launched.c}}, {}});  // here
}
