// expect: would have to move out
// expect: .reorder(
// expect: program spmm
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(reorder_out_of_the_sum) {
  auto s = spmm_schedule("cpu");
  s.split(n = 32).reorder(k, n.inner);
  s.reorder(n.inner, k);  // here
}
