// expect: no input is called C, the output
// expect: what is read there
// expect: .stage(
// expect: program spmm
// fix: spmm_schedule("sm_80").stage("B", shared, at = m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_unread_operand) {
  spmm_schedule("sm_80").stage("C", shared, at = m);  // here
}
