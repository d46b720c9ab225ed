// expect: a schedule has no program
// expect: a schedule that was moved from
// fix: other.split(n = 64);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(schedule_that_was_moved_from) {
  auto s = spmm_schedule("cpu");
  Schedule other = std::move(s);
  s.split(n = 64);  // here
}
