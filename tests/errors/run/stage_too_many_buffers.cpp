// expect: depth = a number from 1 to 8
// expect: .stage(
// expect: program spmm
// fix: s.stage("B", shared, at = k.outer, depth = 8);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_too_many_buffers) {
  auto s = spmm_schedule("sm_80", formats::dense());
  s.split(k = 8);
  s.stage("B", shared, at = k.outer, depth = 9);  // here
}
