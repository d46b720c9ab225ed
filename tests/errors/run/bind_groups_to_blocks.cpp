// expect: groups of k.group hand their sums over in shared memory
// expect: .bind(
// expect: program spmm
// fix: s.bind("k.group", warp);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_groups_to_blocks) {
  auto s = spmm_schedule("sm_80");
  s.split_k(k, groups = 2);
  s.bind("k.group", block_x);  // here
}
