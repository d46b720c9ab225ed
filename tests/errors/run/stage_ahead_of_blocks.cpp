// expect: whose iterations follow one another
// expect: .stage(
// expect: program spmm
// fix: s.split(k = 4).stage("B", shared, at = k.outer, depth = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_ahead_of_blocks) {
  auto s = spmm_schedule("sm_80", formats::dense());
  s.split(n = 8).bind(n.outer, block_x);
  s.stage("B", shared, at = n.outer, depth = 2);  // here
}
