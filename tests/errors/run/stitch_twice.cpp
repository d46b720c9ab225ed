// expect: k.block reads B.stitched, which is a copy of B already
// expect: leave this one out
// fix:
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stitch_twice) {
  auto s = spmm_schedule("sm_80", formats::vector_wise({.rows = 8, .places = 16}));
  s.split(n = 16).reorder("m.block", n.outer, "k.block", "m.row", n.inner);
  s.stitch("B", shared, at = "k.block");
  s.stitch("B", shared, at = "k.block");  // here
  compile(s, {.assemble = false});
}
