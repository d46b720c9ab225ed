// expect: n.outer is serial, over 3
// expect: a power of two
// expect: .stagger(
// expect: program spmm
// fix: s.split(n.outer = 8).stagger(n.outer.inner, m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stagger_three_iterations) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 40);
  s.stagger(n.outer, m);  // here
}
