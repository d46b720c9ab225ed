// expect: adds to no sum in registers
// expect: packed in formats::csr() in place of csc
// expect: program spmm
// fix: spmm_schedule("sm_80", formats::csr()).split_k(k, groups = 2);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_k_of_a_workspace) {
  spmm_schedule("sm_80", formats::csc()).split_k(k, groups = 2);  // here
}
