// expect: m.inner is warp
// expect: it works at m.outer: .stage("B", shared, at = m.outer)
// expect: program spmm
// fix: s.stage("B", shared, at = m.outer);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_inside_a_warp_loop) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bind(m.inner, warp);
  s.stage("B", shared, at = m.inner);  // here
}
