// expect: B is read at different places
// expect: program spmm
// fix: s.stitch("B", shared, at = "k.block");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stitch_a_peeled_loop) {
  auto s = spmm_schedule("sm_75", parse_format("blocked_ell:b=8"));
  s.split(n = 32).bind(n.inner, lane).reorder(n.outer, "m.block", "k.block", "k.place", "m.row", n.inner);
  s.peel("k.place", from_begin = 2).stitch("B", shared, at = "k.block");  // here
}
