// expect: a constant number
// expect: .unroll(
// expect: program spmm
// fix: spmm_schedule("cpu").split(k = 32).unroll(k.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(unroll_sparse_row) {
  spmm_schedule("cpu").unroll(k);  // here
}
