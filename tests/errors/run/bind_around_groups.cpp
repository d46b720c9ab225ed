// expect: sums of groups are handed over inside n
// expect: this step in front of .split_k(k, groups = 2) (bind_around_groups.cpp:
// expect: program spmm
// fix: spmm_schedule("sm_80").bind(n, thread).split_k(k, groups = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_around_groups) {
  spmm_schedule("sm_80").split_k(k, groups = 2).bind(n, thread);  // here
}
