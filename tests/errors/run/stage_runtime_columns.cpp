// expect: do not fill a tile of constant size
// expect: .stage(
// expect: program spmm
// fix: spmm_schedule("sm_80", formats::csr(), Extent::any("N")).stage("B", shared, at = k);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_runtime_columns) {
  spmm_schedule("sm_80", formats::csr(), Extent::any("N")).stage("B", shared, at = m);  // here
}
