// expect: is block_x already
// expect: .split(
// expect: program spmm
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_bound_loop) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x);
  s.split(m = 4);  // here
}
