// expect: bytes of code
// expect: .bake_values(
// expect: program spmm
// fix: s.split(m = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_into_too_little_code) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4);                            // there
  s.bake_values(m.inner, code_bytes = 256);  // here
}
