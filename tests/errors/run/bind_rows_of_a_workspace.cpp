// expect: sum is used inside m and outside of it
// expect: a loop around every use of sum
// expect: program spmm
// fix: spmm_schedule("sm_80", formats::csc()).bind(n, block_x);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_rows_of_a_workspace) {
  spmm_schedule("sm_80", formats::csc()).bind(m, block_x);  // here
}
