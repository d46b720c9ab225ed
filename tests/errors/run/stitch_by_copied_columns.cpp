// expect: B is read at places of A.column.registers, which k.block makes inside
// expect: program spmm
// fix: s.stitch("B", shared, at = "n.outer");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stitch_by_copied_columns) {
  auto s = spmm_schedule("sm_80", parse_format("blocked_ell:b=8"));
  s.split(n = 32).reorder("m.block", n.outer, "k.block", "k.place", "m.row", n.inner);
  s.stage("A.column", registers, at = "k.block").stitch("B", shared, at = "n.outer");  // here
}
