// expect: each of which needs a register
// expect: .reorder(
// expect: program spmm
// fix: s.split(n = 32).reorder(k, n.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(reorder_unsplit_columns) {
  auto s = spmm_schedule("cpu", formats::csr(), Extent::any("N"));
  s.reorder(k, n);  // here
}
