// expect: the target is cpu
// expect: .bind(
// expect: program spmm
// fix: spmm_schedule("cpu").parallel(m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_on_the_cpu) {
  spmm_schedule("cpu").bind(m, block_x);  // here
}
