// expect: is vectorized already
// expect: .vectorize(
// expect: program spmm
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(vectorize_twice) {
  auto s = spmm_schedule("cpu", formats::dense());
  s.split(n = 32, m = 4).vectorize(n.inner);
  s.vectorize(m.inner);  // here
}
