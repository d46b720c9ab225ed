// expect: groups that share a sum meet in k.group
// expect: fused before split_k
// expect: program spmm
// fix: s.fuse(m, n).split_k(k, groups = 2, reduce = second_pass);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(fuse_groups_of_blocks) {
  auto s = spmm_schedule("sm_80");
  s.split_k(k, groups = 2, reduce = second_pass).fuse("n", "k.group");  // here
}
