// expect: the sum asks n.outer * 48 + n.inner < 256
// expect: accepted: a factor that divides 256: n.inner of 32 iterations
// fix: s.split(m = 32, n = 32, k = 32);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_columns_left_over) {
  Schedule s = schedule(product(), as(formats::dense()), gpu());
  s.split(m = 32, n = 48, k = 32);  // there
  s.reorder(m.outer, n.outer, k.outer, m.inner, n.inner, k.inner).bind(m.outer, block_x);
  s.stage("A.values", shared, at = k.outer).stage("B", shared, at = k.outer);
  s.tensorize("mma_m16n8k16");  // here
}
