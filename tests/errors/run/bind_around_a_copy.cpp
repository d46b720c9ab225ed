// expect: a copy into shared memory stands inside n.inner
// expect: stage at a loop outside n.inner
// expect: program spmm
// fix: s.tile(n = 4, m = 8).stage("B", shared, at = n.outer);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

// n.inner stands in three places, and the copy is in the second.
WEFT_ILLEGAL_PROGRAM(bind_around_a_copy) {
  auto s = spmm_schedule("sm_80", formats::coo());
  s.tile(n = 4, m = 8).stage("B", shared, at = "m.stored");  // there
  s.bind(n.inner, lane);                                     // here
}
