// expect: no loop is called k.block
// expect: weights in csr have no loop over blocks, those in blocks have (formats shfl_bw, vector_wise
// fix:   Schedule s = schedule(product(), as(formats::shfl_bw()), target_named("sm_80"));
// fix:   s.reorder("m.block", "k.block", "m.row", n, "k.place");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stitch_at_blocks_of_csr) {
  Schedule s = schedule(product(), as(formats::csr()), target_named("sm_80"));  // there
  s.stitch("B", shared, at = "k.block");                                        // here
}
