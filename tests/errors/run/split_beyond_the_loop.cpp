// expect: n = 2147483648
// expect: a factor from 1 to 1024, because n has 100 iterations
// expect: .split(n = 64)
// fix: s.split(n = 64);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_beyond_the_loop) {
  auto s = spmm_schedule("cpu");
  s.split(n = 2147483648);  // here
  compile(s);
}
