// expect: bytes of code
// expect: or code_bytes = 16384, a number of bytes
// fix: s.bake_values(m.inner, code_bytes = 16384);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(code_bytes_in_kilobytes) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4);
  s.bake_values(m.inner, code_bytes = 16);  // here
}
