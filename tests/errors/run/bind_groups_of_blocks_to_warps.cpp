// expect: groups of k.group hand their sums over between blocks
// expect: .bind(
// expect: program spmm
// fix: s.bind("k.group", block_x);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_groups_of_blocks_to_warps) {
  auto s = spmm_schedule("sm_80");
  s.split_k(k, groups = 2, reduce = second_pass);
  s.bind("k.group", warp);  // here
}
