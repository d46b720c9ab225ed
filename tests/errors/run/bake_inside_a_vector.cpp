// expect: n.inner around it is vectorized
// expect: this step in front of .vectorize(n.inner) (bake_inside_a_vector.cpp:
// expect: program spmm
// fix: s.bake_values(m.inner).vectorize(n.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_inside_a_vector) {
  auto s = spmm_schedule("cpu");
  s.split(m = 4, n = 32).reorder(n.inner, m.inner);
  s.vectorize(n.inner).bake_values(m.inner);  // here
}
