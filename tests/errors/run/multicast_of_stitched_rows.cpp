// expect: B.stitched is copied row by row
// expect: .multicast("A.values", …)
// fix: s.multicast("A.values", n.inner.outer);
#include "illegal_program.h"
#include "illegal_tensor_product.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(multicast_of_stitched_rows) {
  Schedule s = tensor_product(256, 128);
  s.specialize_warps(producers = 4);
  s.multicast("B", n.inner.outer);  // here
}
