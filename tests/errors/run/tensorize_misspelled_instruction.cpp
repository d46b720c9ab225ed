// expect: no instruction is called mma_m16n8k61
// expect: did you mean mma_m16n8k16?
// fix: s.tensorize("mma_m16n8k16");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_misspelled_instruction) {
  Schedule s = schedule(product(), as(formats::dense()), target_named("sm_80"));
  s.split(m = 64, n = 64, k = 32).split(m.inner = 16);
  s.reorder(m.outer, n.outer, k.outer, m.inner.outer, m.inner.inner, n.inner, k.inner);
  s.bind(m.inner.outer, warp);
  s.stage("A", shared, at = k.outer).stage("B", shared, at = k.outer);
  s.tensorize("mma_m16n8k61");  // here
}
