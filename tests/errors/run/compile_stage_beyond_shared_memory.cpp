// expect: infeasible on sm_80
// expect: shared memory B.shared 524288 B > 166912 B
// expect: since step 4 of the schedule, .stage("B", shared, at = n.outer)
// expect: .split(n = 16) in place of .split(n = 64)
// fix: s.split(n = 16);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_stage_beyond_shared_memory) {
  Schedule s = wide_product();
  s.split(n = 64);  // here
  s.reorder(n.outer, m, n.inner).bind(n.outer, block_x).stage("B", shared, at = n.outer);
  compile(s, {.assemble = false});
}
