// expect: no loop is called n.iner
// expect: one of the loops m, n.outer, n.inner, k; the nearest is n.inner
// fix: s.split(n = 32).split(LoopName("n.inner") = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_misspelled_loop) {
  auto s = spmm_schedule("cpu");
  s.split(n = 32).split(LoopName("n.iner") = 4);  // here
}
