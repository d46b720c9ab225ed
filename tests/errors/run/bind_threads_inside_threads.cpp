// expect: 256 x 32 = 8192 threads of a block
// expect: at most 1024 threads in a nest: n.inner of at most 32 iterations
// fix: s.split(m = 32, n = 32);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_threads_inside_threads) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 32, n = 256);  // there
  s.bind(m.inner, thread);
  s.bind(n.inner, thread);  // here
  compile(s, {.assemble = false});
}
