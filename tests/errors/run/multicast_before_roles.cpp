// expect: .specialize_warps(producers = 4) first
// expect: that step asks for a multiple of 32: loops that make the tiles bound by .bind(…, warp) first
// fix: s.bind("m.row.outer", warp).specialize_warps(producers = 4).multicast("A.values", n.outer);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(multicast_before_roles) {
  const LoopName row("m.row"), block("m.block"), sum("k.block"), place("k.place");
  Schedule s = schedule(product(), as(formats::shfl_bw({.rows = 64})), gpu());
  s.split(n = 64).split(LoopFactor{row, 16});
  s.reorder(n.outer, block, sum, "m.row.outer", "m.row.inner", n.inner, place);
  s.bind(n.outer, block_y).bind(block, block_x);
  s.stage("A.values", shared, at = sum, depth = 2);
  s.multicast("A.values", n.outer);  // here
}
