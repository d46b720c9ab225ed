// expect: the place of B is asked of A.column
// expect: depth = 1, or loops cut by a number that divides their iterations
// expect: program spmm
// fix: s.split(k = 4).stage("B", shared, at = "k.inner");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_ahead_of_rows_that_end) {
  auto s = spmm_schedule("sm_80");
  s.split(k = 4).stage("B", shared, at = "k.inner", depth = 4);  // here
}
