// expect: m is parallel already
// expect: split before the step that makes it parallel: .split(m = 8).parallel(m.outer)
// fix: spmm_schedule("cpu").split(m = 8).parallel(m.outer);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_parallel_loop) {
  spmm_schedule("cpu").parallel(m).split(m = 8);  // here
}
