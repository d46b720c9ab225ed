// expect: the kernel has no operand of that name
// expect: did you mean B?
// fix:   launched.bound().upload("B", launched.b);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(upload_unknown_operand) {
  LaunchedProduct launched;
  launched.bound().upload("b", launched.b);  // here
}
