// expect: every loop once
// expect: .reorder(
// expect: program spmm
// fix: spmm_schedule("cpu").reorder(m, n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(reorder_twice) {
  spmm_schedule("cpu").reorder(m, n, m);  // here
}
