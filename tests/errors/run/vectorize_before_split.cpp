// expect: no loop is called n.inner
// expect: .split(n = 64) makes n.outer and n.inner
// fix: s.split(n = 64).vectorize(n.inner);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(vectorize_before_split) {
  auto s = spmm_schedule("cpu");
  s.vectorize(n.inner);  // here
  compile(s);
}
