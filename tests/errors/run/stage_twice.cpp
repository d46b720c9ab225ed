// expect: n.outer reads B.shared, which is a copy of B already
// expect: leave this one out
// fix:
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_twice) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 32).reorder(n.outer, m, n.inner).stage("B", shared, at = n.outer);
  s.stage("B", shared, at = n.outer);  // here
  compile(s, {.assemble = false});
}
