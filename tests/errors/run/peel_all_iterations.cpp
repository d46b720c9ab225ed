// expect: m has 12 iterations, and 12 are to be peeled
// expect: fewer of them: .peel(m, from_end = 1)
// expect: program spmm
// fix: s.peel(m, from_end = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(peel_all_iterations) {
  auto s = spmm_schedule("cpu");
  s.peel(m, from_end = 12);  // here
}
