// expect: infeasible on sm_80
// expect: shared memory
// expect: B > 166912 B
// expect: since step 6 of the schedule, .split_k(k, groups = 32)
// expect: .split_k(k, groups = 16) in place of .split_k(k, groups = 32)
// fix: s.split_k(k, groups = 16);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_split_k_beyond_shared_memory) {
  Schedule s = schedule(product(DType::f32), *as(formats::dense(), DType::f32), target_named("sm_80"));
  s.split(m = 32, n = 64).split(n.inner = 32);
  s.reorder(m.outer, n.outer, n.inner.inner, k, m.inner, n.inner.outer);
  s.bind(m.outer, block_x).bind(n.inner.inner, lane);
  s.split_k(k, groups = 32);  // here
  s.bind("k.group", warp);
  compile(s, {.assemble = false});
}
