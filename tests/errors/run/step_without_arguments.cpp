// expect: .unroll() has the wrong number of arguments
// expect: step 2 of the schedule
// expect: 0 arguments
// expect: .unroll(
// fix: s.apply({"unroll", {{"", "n.inner"}}, {}});
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(step_without_arguments) {
  auto s = spmm_schedule("cpu").split(n = 4);
  s.apply({"unroll", {}, {}});  // here
}
