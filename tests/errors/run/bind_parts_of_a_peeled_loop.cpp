// expect: parts of n.outer have 3 and 1 iterations
// expect: .bind(n.outer, block_x) without peel
// expect: program spmm
// fix: s.split(n = 32).bind(n.outer, block_x);
#include "illegal_launch.h"
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_parts_of_a_peeled_loop) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 32).peel(n.outer, from_end = 1).bind(n.outer, block_x);  // here
  compile(s, {.assemble = false});
}
