// expect: A.values is read from global memory
// expect: .stage("A", shared, at = k.outer) first
// fix: s.stage("A", shared, at = k.outer).stage("B", shared, at = k.outer).tensorize("mma_m16n8k16");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_what_is_not_staged) {
  Schedule s = schedule(product(), as(formats::dense()), target_named("sm_80"));
  s.split(m = 64, n = 64, k = 32).reorder(m.outer, n.outer, k.outer, m.inner, n.inner, k.inner);
  s.tensorize("mma_m16n8k16");  // here
  compile(s, {.assemble = false});
}
