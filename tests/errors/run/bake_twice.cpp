// expect: reads no weights
// expect: .bake_values(
// expect: program spmm
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_twice) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bake_values(m.inner);
  s.bake_values(m.inner);  // here
}
