// expect: A is no weights in blocks whose rows have a width of their own
// expect: pack(weights, formats::hb_ell())
// fix: spmm_schedule("sm_80", formats::hb_ell()).decode("A", shared, at = "k.block");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(decode_of_csr) {
  spmm_schedule("sm_80").decode("A", shared, at = k);  // here
}
