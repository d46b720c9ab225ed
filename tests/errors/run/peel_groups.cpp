// expect: groups that share a sum meet in k.group
// expect: program spmm
// fix: s.split_k(k, groups = 4).peel(k, from_end = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(peel_groups) {
  auto s = spmm_schedule("sm_80");
  s.split_k(k, groups = 4).peel("k.group", from_end = 1);  // here
}
