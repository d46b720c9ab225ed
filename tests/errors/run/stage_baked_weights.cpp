// expect: nothing of A is read any more, since its numbers stand in the code
// expect: leave this step out
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_baked_weights) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bake_values(m.inner);
  s.stage("A", shared, at = m.outer);  // here
}
