// expect: sm_80 has no clusters of thread blocks
// expect: or leave out .multicast("A", n.outer)
// fix:
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(multicast_without_clusters) {
  Schedule s = schedule(product(), as(formats::dense()), target_named("sm_80"));
  s.split(m = 64, n = 128, k = 32).reorder(m.outer, n.outer, k.outer, m.inner, n.inner, k.inner);
  s.bind(m.outer, block_y).bind(n.outer, block_x);
  s.stage("A", shared, at = k.outer, depth = 2);
  s.multicast("A", n.outer);  // here
}
