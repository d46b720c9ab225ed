// expect: is vectorized already
// expect: .split(
// expect: program spmm
// fix: spmm_schedule("cpu").split(n = 32).split(n.inner = 4).vectorize(n.inner.inner);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_vectorized_loop) {
  spmm_schedule("cpu").split(n = 32).vectorize(n.inner).split(n.inner = 4);  // here
}
