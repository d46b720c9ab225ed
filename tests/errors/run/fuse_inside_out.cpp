// expect: m is not all that n has inside
// expect: .fuse(m, n)
// fix: s.fuse(m, n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(fuse_inside_out) {
  auto s = spmm_schedule("cpu");
  s.fuse(n, m);  // here
}
