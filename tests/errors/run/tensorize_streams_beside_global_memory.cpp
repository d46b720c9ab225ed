// expect: B[n.outer * 8 + n.inner, k.slice * 64 + k.step * 64 + k.place] from global memory
// expect: the dense factor, [n, k], in shared memory: .stage("B") at the loop over slices
// fix: s.stage("B", shared, at = slices).tensorize("mma_m16n8k16");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_streams_beside_global_memory) {
  Schedule s = schedule(product(), as(formats::pair_words(64)), target_named("sm_90"));
  const LoopName blocks("m.block"), slices("k.slice"), groups("m.group"), steps("k.step"), row("m.row"),
      place("k.place");
  s.transpose("B").split(n = 8).reorder(n.outer, blocks, slices, groups, steps, row, n.inner, place);
  s.bind(blocks, block_x).bind(n.outer, block_y);
  s.tensorize("mma_m16n8k16");  // here
}
