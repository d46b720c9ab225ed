// expect: and reads A.values and B from global memory
// expect: tiles that are zero where nothing is read
// expect: .stage("A.values", shared, at = "k.block").stitch("B", shared, at = "k.block")
// fix: s.stage("A.values", shared, at = sum).stitch("B", shared, at = sum);
// fix: s.tensorize("mma_m16n8k16");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_before_the_copies) {
  const LoopName row("m.row"), block("m.block"), sum("k.block"), place("k.place");
  Schedule s = schedule(product(), as(formats::shfl_bw({.rows = 64})), target_named("sm_80"));
  s.split(n = 64).reorder(n.outer, block, sum, row, n.inner, place);
  s.bind(n.outer, block_y).bind(block, block_x);
  s.tensorize("mma_m16n8k16");  // here
}
