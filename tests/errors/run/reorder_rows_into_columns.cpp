// expect: depends on it
// expect: .reorder(
// expect: program spmm
// fix: s.reorder(m.inner, k);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(reorder_rows_into_columns) {
  auto s = spmm_schedule("cpu");
  s.split(m = 4);
  s.reorder(k, m.inner);  // here
}
