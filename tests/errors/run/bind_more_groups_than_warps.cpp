// expect: k.group has 64 iterations
// expect: a constant number of at most 32: .split(LoopName("k.group") = 32) first
// fix: s.split(LoopName("k.group") = 32).bind("k.group.inner", warp);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_more_groups_than_warps) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x).split_k(k, groups = 64);
  s.bind("k.group", warp);  // here
}
