// expect: 0 loops in k.place run over the places of a block's row
// expect: .decode("A", shared, at = "k.block")
// fix: s.decode("A", shared, at = LoopName("k.block"));
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(decode_at_the_places) {
  Schedule s = schedule(product(), as(formats::hb_ell()), gpu());
  const LoopName blocks("m.block"), sum("k.block"), row("m.row"), place("k.place");
  s.split(n = 64).reorder(n.outer, blocks, sum, row, n.inner, place);
  s.bind(n.outer, block_y).bind(blocks, block_x);
  s.decode("A", shared, at = place);  // here
}
