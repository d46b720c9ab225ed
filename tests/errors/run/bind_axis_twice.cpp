// expect: is bound to block_x already
// expect: .bind(
// expect: program spmm
// fix: s.bind(n, block_y);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_axis_twice) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x);
  s.bind(n, block_x);  // here
}
