// expect: m and n are bound to nothing
// expect: .bind(m, block_y).bind(n, block_x)
// fix: s.bind(m, block_y).bind(n, block_x).persist(m, n, blocks = 4);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(persist_of_unbound_loops) {
  auto s = spmm_schedule("sm_80");
  s.persist(m, n, blocks = 4);  // here
  compile(s, {.assemble = false});
}
