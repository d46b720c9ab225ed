// expect: an axis called shared
// expect: block_x, block_y, block_z, warp, lane or thread
// expect: .bind(m, block_x)
// fix: s.bind(m, block_x);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_unknown_axis) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, shared);  // here
}
