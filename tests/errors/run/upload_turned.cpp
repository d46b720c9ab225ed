// expect: an array does not fit operand B
// expect: f32 [100, 20]
// expect: f32 [20, 100], as it was bound
// fix:   launched.bound().upload("B", Array(DType::f32, {20, 100}));
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(upload_turned) {
  LaunchedProduct launched;
  launched.bound().upload("B", Array(DType::f32, {100, 20}));  // here
}
