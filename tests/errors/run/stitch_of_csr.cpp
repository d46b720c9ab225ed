// expect: k runs over A.begin[m] .. A.begin[m + 1]
// expect: formats shfl_bw, vector_wise, n_m, v_n_m
// expect: .stage("B", shared, at = n.outer)
// fix: s.stage("B", shared, at = n.outer);
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stitch_of_csr) {
  auto s = spmm_schedule("sm_80");
  s.split(n = 32).reorder(n.outer, m, n.inner);
  s.stitch("B", shared, at = n.outer);  // here
  compile(s, {.assemble = false});
}
