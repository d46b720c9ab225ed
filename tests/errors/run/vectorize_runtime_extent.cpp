// expect: a constant number
// expect: .vectorize(
// expect: program spmm
// fix: spmm_schedule("cpu", formats::csr(), Extent::any("N")).split(n = 32).vectorize(n.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(vectorize_runtime_extent) {
  spmm_schedule("cpu", formats::csr(), Extent::any("N")).vectorize(n);  // here
}
