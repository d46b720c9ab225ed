// expect: is parallel
// expect: .vectorize(
// expect: program spmm
// fix: s.reorder(n, m).vectorize(m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(vectorize_around_parallel) {
  auto s = spmm_schedule("cpu", formats::dense());
  s.parallel(n);
  s.vectorize(m);  // here
}
