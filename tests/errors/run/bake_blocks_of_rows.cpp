// expect: m.outer is block_x
// expect: around their sums: .bake_values(m.inner)
// fix: s.bake_values(m.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_blocks_of_rows) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bind(m.outer, block_x);
  s.bake_values(m.outer);  // here
}
