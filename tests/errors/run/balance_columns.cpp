// expect: n is a serial loop over 0 .. 100
// expect: the loop over the stored rows
// expect: program spmm
// fix: spmm_schedule("sm_80").balance(m, parts = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(balance_columns) {
  spmm_schedule("sm_80").balance(n, parts = 2);  // here
}
