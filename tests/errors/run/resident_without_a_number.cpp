// expect: a number from 1 to 32
// expect: .resident(
// expect: program spmm
// fix: s.resident(blocks = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(resident_without_a_number) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x);
  s.resident(blocks = 0);  // here
}
