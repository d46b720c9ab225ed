// expect: depends on m.inner
// expect: a loop whose iterations all do the same: .vectorize(n)
// expect: program spmm
// fix: s.vectorize(n);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(vectorize_rows) {
  auto s = spmm_schedule("cpu");
  s.split(m = 4);
  s.vectorize(m.inner);  // here
}
