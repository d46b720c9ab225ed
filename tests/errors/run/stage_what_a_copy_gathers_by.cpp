// expect: .stage("A.column", shared, at = m.outer, depth = 4) does not apply (precondition 6)
// expect: A.column says what the copy B.stitched holds
// expect: this step before the one that copies B
// fix: s.stage("A.column", shared, at = m.outer).stitch("B", shared, at = m.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_what_a_copy_gathers_by) {
  Schedule s = spmm_schedule("sm_80", parse_format("ell"));
  s.split(m = 4);
  s.stitch("B", shared, at = m.inner).stage("A.column", shared, at = m.outer, depth = 4);  // here
}
