// expect: m.inner has rows iterations, which is not known when its rows are written out
// expect: .bake_values(
// expect: program spmm
// fix: s.split(m = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_rows_of_a_knob) {
  auto s = spmm_schedule("sm_80");
  s.split(m = knob("rows", {2, 4}));  // there
  s.bake_values(m.inner);             // here
}
