// expect: is vectorized already
// expect: .split(
// expect: program spmm
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_vectorized_loop) {
  auto s = spmm_schedule("cpu");
  s.split(n = 32).vectorize(n.inner);
  s.split(n.inner = 4);  // here
}
