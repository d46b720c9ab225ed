// expect: block loops outside
// expect: .bind(
// expect: program spmm
// fix: s.reorder(n, m.inner).bind(n, block_x);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_block_inside_warp) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bind(m.inner, warp);
  s.bind(n, block_x);  // here
}
