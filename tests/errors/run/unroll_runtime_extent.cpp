// expect: a constant number
// expect: .unroll(
// expect: program spmm
// fix: spmm_schedule("cpu", formats::csr(), Extent::any("N")).split(n = 32).unroll(n.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(unroll_runtime_extent) {
  spmm_schedule("cpu", formats::csr(), Extent::any("N")).unroll(n);  // here
}
