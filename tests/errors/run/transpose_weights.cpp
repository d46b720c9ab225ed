// expect: A is sparse, and its format says how it lies
// expect: a dense operand with two dimensions or more: B, C
// fix: s.transpose("B");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(transpose_weights) {
  auto s = spmm_schedule("sm_80");
  s.transpose("A");  // here
}
