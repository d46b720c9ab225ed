// expect: an array does not fit operand C
// expect: f32 [10]
// expect: f32 [12, 100]
// fix:   launched.bound().download("C", launched.c);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(download_of_ten_elements) {
  LaunchedProduct launched;
  Array ten(DType::f32, {10});
  launched.bound().download("C", ten);  // here
}
