// expect: no loop at which the copy is made
// expect: at = one of the loops m, n.outer, n.inner, k
// expect: .stage("B", shared, at = k, depth = 2)
// fix: s.stage("B", shared, at = k, depth = 2);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_without_a_place) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 32);
  s.stage("B", shared, depth = 2);  // here
  compile(s, {.assemble = false});
}
