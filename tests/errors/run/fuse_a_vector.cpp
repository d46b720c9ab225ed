// expect: n.inner is vectorized already
// expect: a schedule without .vectorize(n.inner) (fuse_a_vector.cpp:
// fix: s.split(n = 16);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(fuse_a_vector) {
  auto s = spmm_schedule("cpu");
  s.split(n = 16).vectorize(n.inner);  // there
  s.fuse(n.outer, n.inner);            // here
}
