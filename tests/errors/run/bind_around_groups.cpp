// expect: sums of groups are handed over inside n
// expect: .bind(
// expect: program spmm
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_around_groups) {
  auto s = spmm_schedule("sm_80");
  s.split_k(k, groups = 2);
  s.bind(n, thread);  // here
}
