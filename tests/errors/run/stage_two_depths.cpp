// expect: depth = 2 for all copies at one loop
// expect: .stage(
// expect: program spmm
// fix: s.stage("A", shared, at = k.outer, depth = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_two_depths) {
  auto s = spmm_schedule("sm_80", formats::dense());
  s.split(n = 8, k = 8).reorder(n.outer, m, n.inner, k.outer).reorder(n.outer, k.outer, n.inner);
  s.stage("B", shared, at = k.outer, depth = 2);
  s.stage("A", shared, at = k.outer, depth = 3);  // here
}
