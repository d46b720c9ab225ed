// expect: parts of m.row use registers of sum
// expect: program spmm
// fix: s.bind("m.row", thread);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bind_a_peeled_loop) {
  auto s = spmm_schedule("sm_80", parse_format("blocked_ell:b=8"));
  s.reorder("m.block", n, "k.block", "k.place", "m.row");
  s.peel("m.row", from_begin = 2).bind("m.row", thread);  // here
}
