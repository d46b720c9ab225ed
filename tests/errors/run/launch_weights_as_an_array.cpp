// expect: the sparse operand is given as an array
// expect: the weights of A are packed into the schedule
// fix:   launched.kernel(Device::cpu(), launched.arguments);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_weights_as_an_array) {
  LaunchedProduct launched;
  Array a(DType::f32, {12, 20});
  launched.kernel(Device::cpu(), {{{"A", &a}, {"B", &launched.b}, {"C", &launched.c}}, {}});  // here
}
