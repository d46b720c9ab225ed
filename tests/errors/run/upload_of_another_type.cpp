// expect: an array does not fit operand B
// expect: f16 [20, 100]
// expect: f32 [20, 100], as it was bound
// fix:   launched.bound().upload("B", b.converted(DType::f32));
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(upload_of_another_type) {
  LaunchedProduct launched;
  const Array b(DType::f16, {20, 100});
  launched.bound().upload("B", b);  // here
}
