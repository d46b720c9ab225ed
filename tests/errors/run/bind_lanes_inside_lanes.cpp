// expect: n.inner inside m.inner, each bound to lane: 32 x 4 = 128 lanes of a block
// expect: at most 32 lanes in a nest
// expect: .bind(n.inner, warp)
// fix: s.split(m = 4, n = 32).bind(m.inner, lane).bind(n.inner, warp);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_lanes_inside_lanes) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4, n = 32).bind(m.inner, lane).bind(n.inner, lane);  // here
  compile(s, {.assemble = false});
}
