// expect: found:    reduce = registers
// expect: as in .split_k(k, groups = 4, reduce = shared)
// fix: spmm_schedule("sm_80").split_k(k, groups = 4, reduce = shared);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_k_into_registers) {
  spmm_schedule("sm_80").split_k(k, groups = 4, reduce = registers);  // here
}
