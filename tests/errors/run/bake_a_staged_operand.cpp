// expect: a staged operand
// expect: .bake_values(
// expect: program spmm
// fix: s.split(m = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_a_staged_operand) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).stage("B", registers, at = k);  // there
  s.bake_values(m.inner);                        // here
}
