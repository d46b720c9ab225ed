// expect: add to the same sums
// expect: .parallel(
// expect: program spmm
// fix: spmm_schedule("cpu").parallel(m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(parallel_sum) {
  spmm_schedule("cpu").parallel(k);  // here
}
