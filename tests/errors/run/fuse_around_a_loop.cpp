// expect: n.inner is not all that m has inside
// expect: accepted: n.inner directly inside m, wherever they stand
// fix: s.fuse(m, n.outer);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(fuse_around_a_loop) {
  auto s = spmm_schedule("cpu");
  s.split(n = 32);
  s.fuse(m, n.inner);  // here
}
