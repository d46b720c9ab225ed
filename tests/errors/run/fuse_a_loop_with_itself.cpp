// expect: found:    m twice
// expect: loops of which each is named once
// fix: s.fuse(m, n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(fuse_a_loop_with_itself) {
  auto s = spmm_schedule("cpu");
  s.fuse(m, m);  // here
}
