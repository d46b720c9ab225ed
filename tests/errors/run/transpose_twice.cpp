// expect: B is transposed already
// expect: transpose once
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(transpose_twice) {
  auto s = spmm_schedule("sm_80");
  s.transpose("B");
  s.transpose("B");  // here
}
