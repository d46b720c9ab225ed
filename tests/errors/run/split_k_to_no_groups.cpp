// expect: groups = 0
// expect: .split_k(
// expect: program spmm
// fix: spmm_schedule("sm_80").split_k(k, groups = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_k_to_no_groups) {
  spmm_schedule("sm_80").split_k(k, groups = 0);  // here
}
