// expect: depends on it
// expect: .split(m = 4, k = 8) makes the same loops
// expect: program spmm
// fix: spmm_schedule("cpu").split(m = 4, k = 8);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tile_sparse_columns) {
  spmm_schedule("cpu").tile(m = 4, k = 8);  // here
}
