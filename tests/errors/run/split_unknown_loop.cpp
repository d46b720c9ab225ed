// expect: no loop is called z
// expect: .split(
// expect: program spmm
// fix: spmm_schedule("cpu").split(n = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_unknown_loop) {
  spmm_schedule("cpu").split(LoopName("z") = 4);  // here
}
