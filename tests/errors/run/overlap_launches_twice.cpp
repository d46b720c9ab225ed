// expect: launches overlap already
// expect: overlap_launches once
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(overlap_launches_twice) {
  auto s = spmm_schedule("sm_90");
  s.overlap_launches("A");
  s.overlap_launches("A");  // here
}
