// expect: no loop is called m.inner
// expect: .bake_values(
// expect: program spmm
// fix: spmm_schedule("sm_80").split(m = 64).bake_values(m.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_unknown_rows) {
  spmm_schedule("sm_80").bake_values(m.inner);  // here
}
