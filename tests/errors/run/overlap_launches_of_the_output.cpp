// expect: C is the output
// expect: one of A, B
// fix: s.overlap_launches("A");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(overlap_launches_of_the_output) {
  auto s = spmm_schedule("sm_90");
  s.bind(m, block_x);
  s.overlap_launches("C");  // here
}
