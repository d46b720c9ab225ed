// expect: n has 70000 iterations
// expect: at most 65535 blocks along block_y
// expect: .bind(n, block_x)
// fix: s.bind(n, block_x);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_longer_than_the_grid) {
  auto s = spmm_schedule("sm_80", formats::csr(), 70'000);
  s.bind(n, block_y);  // here
  compile(s, {.assemble = false});
}
