// expect: cpu has no thread blocks
// expect: .resident(
// expect: program spmm
// fix: spmm_schedule("sm_80").resident(blocks = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(resident_on_the_cpu) {
  spmm_schedule("cpu").resident(blocks = 2);  // here
}
