// expect: shared by groups
// expect: without chunk, .bake_values(m.inner)
// expect: program spmm
// fix: s.bake_values(m.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_chunks_of_groups) {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4, n = 32).reorder(m.outer, n.outer, n.inner, m.inner);
  s.bind(n.inner, lane).split_k(k, groups = 2).bind("k.group", warp);
  s.bake_values(m.inner, chunk = 16);  // here
}
