// expect: k goes through the entries of one row at a time
// expect: v_n_m(algorithm, pack(weights, formats::column_quads({.rows = 64})), target)
// fix: s = v_n_m(product(), as(formats::column_quads({.rows = 64})), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_staged_entries) {
  Schedule s = schedule(product(), as(formats::csr()), gpu());
  s.tile(m = 16, n = 8).bind(m.outer, block_x).stage("A.values", shared, at = k);
  s.tensorize("mma_m16n8k16");  // here
}
