// expect: a number of at least 1
// expect: .bake_values(
// expect: program spmm
// fix: s.bake_values(m.inner, chunk = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_no_chunk) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4);
  s.bake_values(m.inner, chunk = 0);  // here
}
