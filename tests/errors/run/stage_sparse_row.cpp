// expect: do not fill a tile of constant size
// expect: .stage(
// expect: program spmm
// fix: spmm_schedule("sm_80", formats::ell()).stage("A", shared, at = m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_sparse_row) {
  spmm_schedule("sm_80").stage("A", shared, at = m);  // here
}
