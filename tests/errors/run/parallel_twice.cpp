// expect: one parallel loop in a nest
// expect: .parallel(
// expect: program spmm
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(parallel_twice) {
  auto s = spmm_schedule("cpu");
  s.parallel(m);
  s.parallel(n);  // here
}
