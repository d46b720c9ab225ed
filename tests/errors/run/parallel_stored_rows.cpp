// expect: add to the same sums
// expect: .parallel(
// expect: program spmm
// fix: spmm_schedule("cpu", formats::csc()).parallel(n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(parallel_stored_rows) {
  spmm_schedule("cpu", formats::csc()).parallel("m.stored");  // here
}
