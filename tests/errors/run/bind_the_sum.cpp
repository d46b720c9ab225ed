// expect: add to the same sums
// expect: .bind(
// expect: program spmm
// fix: spmm_schedule("sm_80").bind(m, lane);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_the_sum) {
  spmm_schedule("sm_80").bind(k, lane);  // here
}
