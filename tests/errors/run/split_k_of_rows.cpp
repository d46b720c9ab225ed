// expect: iterations of m give different results
// expect: .split_k(
// expect: program spmm
// fix: spmm_schedule("sm_80").split_k(k, groups = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_k_of_rows) {
  spmm_schedule("sm_80").split_k(m, groups = 2);  // here
}
