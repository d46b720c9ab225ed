// expect: nothing of A.values is read any more, since its numbers stand in the code
// expect: leave this step out
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_an_array_of_baked_weights) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bake_values(m.inner);
  s.stage("A.values", shared, at = m.outer);  // here
}
