// expect: there is nothing to tune
// expect: no point that fits: shared memory
// expect: smaller parts of loops, other values of its knobs, or another target
// fix: s.split(n = 64, k = 8);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(search_of_a_schedule_that_never_fits) {
  Schedule s = schedule(product(DType::f32), as(formats::dense(), DType::f32), target_named("sm_80"));
  s.split(n = 256, k = 96);  // there
  s.reorder(n.outer, m, k.outer, n.inner, k.inner).bind(n.outer, block_x).bind(m, block_y);
  s.stage("B", shared, at = k.outer, depth = knob("depth", {2, 3}));
  s.bind(n.inner, thread);
  tune(s, "sim:sm_80", {.trials = 1});  // here
}
