// expect: sm_80 has no launches that wait for one another
// expect: or leave out .overlap_launches("A")
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(overlap_launches_on_an_older_gpu) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x);
  s.overlap_launches("A");  // here
}
