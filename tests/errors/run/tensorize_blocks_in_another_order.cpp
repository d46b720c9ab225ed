// expect: loops over the 16 rows, 16 columns and the places of a block, in this order
// expect: .reorder("m.row", n.inner, "k.place") first
// fix: s.reorder(LoopName("m.row"), n.inner, LoopName("k.place")).tensorize("swmma_m16n16k16");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_blocks_in_another_order) {
  Schedule s = schedule(product(), as(parse_format("hb_ell:step=4")), target_named("sm_70_swmma"));
  const LoopName blocks("m.block"), sum("k.block"), row("m.row"), place("k.place");
  s.split(n = 16).reorder(blocks, n.outer, sum, n.inner, row, place);
  s.bind(blocks, block_x).bind(n.outer, block_y);
  s.tensorize("swmma_m16n16k16");  // here
}
