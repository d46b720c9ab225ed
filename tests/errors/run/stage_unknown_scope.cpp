// expect: accepted: shared or registers, as in
// expect: .stage(
// expect: program spmm
// fix: spmm_schedule("sm_80").stage("B", shared, at = n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_unknown_scope) {
  spmm_schedule("sm_80").stage("B", block_x, at = n);  // here
}
