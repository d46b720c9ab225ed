// expect: add to the same sums
// expect: .vectorize(
// expect: program spmm
// fix: spmm_schedule("cpu", formats::dense()).vectorize(n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(vectorize_the_sum) {
  spmm_schedule("cpu", formats::dense()).vectorize(k);  // here
}
