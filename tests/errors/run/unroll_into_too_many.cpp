// expect: .unroll(n) does not apply (precondition 5)
// expect: 4800 statements, written out
// expect: at most 1024: split n first and unroll n.inner
// fix: s.split(n = 4).unroll(n.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(unroll_into_too_many) {
  auto s = spmm_schedule("cpu");
  s.unroll(m);
  s.unroll(n);  // here
}
