// expect: n = 0
// expect: .split(
// expect: program spmm
// fix: spmm_schedule("cpu").split(n = 64);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_by_zero) {
  spmm_schedule("cpu").split(n = 0);  // here
}
