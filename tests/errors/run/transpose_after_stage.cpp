// expect: B is copied already
// expect: .transpose("B") in front of the steps that copy it
// fix: s.reorder(m, k, n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(transpose_after_stage) {
  auto s = spmm_schedule("sm_80");
  s.stage("B", shared, at = m);
  s.transpose("B");  // here
}
