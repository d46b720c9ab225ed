// expect: at most 32
// expect: .bind(
// expect: program spmm
// fix: s.split(n.inner = 32).bind(n.inner.inner, lane);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_too_many_lanes) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 64);
  s.bind(n.inner, lane);  // here
}
