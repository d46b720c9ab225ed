// expect: resident(blocks = 2) before
// expect: .resident(
// expect: program spmm
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(resident_twice) {
  auto s = spmm_schedule("sm_80");
  s.resident(blocks = 2);
  s.resident(blocks = 1);  // here
}
