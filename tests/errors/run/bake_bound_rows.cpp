// expect: m.inner is warp
// expect: .bake_values(
// expect: program spmm
// fix: s.split(m = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_bound_rows) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bind(m.inner, warp);  // there
  s.bake_values(m.inner);              // here
}
