// expect: weights in csc
// expect: pack(weights, formats::csr())
// fix: spmm_schedule("cpu", formats::csr()).balance(m, parts = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(balance_of_columns_in_csc) {
  spmm_schedule("cpu", formats::csc()).balance(m, parts = 4);  // here
}
