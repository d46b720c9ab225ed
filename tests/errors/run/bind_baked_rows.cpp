// expect: registers of sum are used inside m.inner and outside of it
// expect: a loop around every use of sum: .bind(m.outer, block_y)
// expect: program spmm
// fix: s.bind(m.outer, block_y);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_baked_rows) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bake_values(m.inner);
  s.bind(m.inner, block_y);  // here
}
