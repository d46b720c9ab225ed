// expect: weights in csr
// expect: padded_csr:pad=8,fill=128
// expect: .pool(
// fix: spmm_schedule("sm_80", parse_format("padded_csr:pad=8,fill=128")).pool(m, k, workers = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(pool_of_csr) {
  spmm_schedule("sm_80").pool(m, k, workers = 4);  // here
}
