// expect: is asked of A.column[
// expect: ahead of the condition that keeps it inside of
// fix: s.stage("B", shared, at = LoopName("k.place.inner"), depth = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_ahead_beyond_a_block) {
  // Columns are kept in blocks of 32, of which 5 is no divisor.
  auto s = spmm_schedule("sm_80", parse_format("shfl_bw:V=16"));
  s.split(LoopFactor{LoopName("k.place"), 5}).split(n = 32).bind(n.inner, lane);
  s.reorder(n.outer, "m.block", "k.block", "k.place.outer", "k.place.inner", "m.row", n.inner);
  s.stage("B", shared, at = LoopName("k.place.inner"), depth = 3);  // here
}
