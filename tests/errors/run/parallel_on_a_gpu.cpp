// expect: the target is sm_80
// expect: .parallel(
// expect: program spmm
// fix: spmm_schedule("sm_80").bind(m, block_x);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(parallel_on_a_gpu) {
  spmm_schedule("sm_80").parallel(m);  // here
}
