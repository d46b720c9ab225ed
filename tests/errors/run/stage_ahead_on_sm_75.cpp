// expect: cp.async
// expect: .stage(
// expect: program spmm
// fix: s.stage("B", shared, at = k.outer, depth = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_ahead_on_sm_75) {
  auto s = spmm_schedule("sm_75", formats::dense());
  s.split(k = 8);
  s.stage("B", shared, at = k.outer, depth = 2);  // here
}
