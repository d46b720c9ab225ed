// expect: is block_x already
// expect: .split(m = 4).bind(m.outer, block_x)
// expect: program spmm
// fix: spmm_schedule("sm_80").split(m = 4).bind(m.outer, block_x);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_bound_loop) {
  spmm_schedule("sm_80").bind(m, block_x).split(m = 4);  // here
}
