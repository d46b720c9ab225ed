// expect: .specialize_warps(producers = 4) first
// expect: .reorder("k.block", "m.row") before .stage, so that a tile has all that m.row chooses of
// expect: or leave out .multicast("A.values", n.outer): each block copies for itself then
// fix:
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(multicast_of_a_part_of_a_block) {
  Schedule s = schedule(product(), as(formats::vector_wise({.rows = 64})), gpu());
  s.split(n = 128).reorder(n.outer, "m.block").bind(n.outer, block_y).bind("m.block", block_x);
  s.stage("A.values", shared, at = "k.block", depth = 2);
  s.multicast("A.values", n.outer);  // here
}
