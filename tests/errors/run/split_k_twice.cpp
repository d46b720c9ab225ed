// expect: the sum is split to k.group already
// expect: .split_k(
// expect: program spmm
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_k_twice) {
  auto s = spmm_schedule("sm_80");
  s.split_k(k, groups = 2);
  s.split_k(k, groups = 2);  // here
}
