// expect: m.stored has A.begin[k + 1] - A.begin[k] iterations
// expect: .bake_values(
// expect: program spmm
// fix: spmm_schedule("sm_80", formats::csr()).split(m = 4).bake_values(m.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_rows_of_a_workspace) {
  spmm_schedule("sm_80", formats::csc()).bake_values("m.stored");  // here
}
