// expect: depends on it
// expect: .reorder(
// expect: program spmm
// fix: s.reorder(m, n.inner, k);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(reorder_columns_around_rows) {
  auto s = spmm_schedule("cpu");
  s.split(n = 32).reorder(k, n.inner);
  s.reorder(n.inner, m);  // here
}
