// expect: either thread, or warp and lane
// expect: .bind(
// expect: program spmm
// fix: s.bind(m.inner, warp);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_thread_beside_lane) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4, n = 32).bind(n.inner, lane);
  s.bind(m.inner, thread);  // here
}
