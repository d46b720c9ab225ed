// expect: 64 rows of 1 runs for 128 threads, in B.stitched
// expect: or leave out .specialize_warps(…): all warps copy then
// fix:
#include "illegal_program.h"
#include "illegal_tensor_product.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(producers_of_rows_shared_unevenly) {
  const LoopName row("m.row"), block("m.block"), sum("k.block"), place("k.place");
  Schedule s = schedule(product(), as(formats::shfl_bw()), gpu());
  s.split(n = 8).reorder(n.outer, block, sum, row, n.inner, place);
  s.bind(n.outer, block_y).bind(block, block_x);
  s.stage("A.values", shared, at = sum, depth = 2).stitch("B", shared, at = sum, depth = 2);
  s.specialize_warps(producers = 4);  // here
}
