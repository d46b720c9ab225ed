// expect: no input is called W
// expect: what is read there: B
// fix: s.stage("B", shared, at = n.outer);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_unknown_tensor) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 32).reorder(n.outer, m, n.inner);
  s.stage("W", shared, at = n.outer);  // here
  compile(s, {.assemble = false});
}
