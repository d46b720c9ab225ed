// expect: a schedule cannot be searched on that device
// expect: 'cpu'
// expect: sim:sm_80, cuda
// fix: tune(s, "sim:sm_80", {.trials = 1});
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(search_gpu_kernels_on_the_cpu) {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x).split(n = knob("width", {16, 32})).bind(n.inner, thread);
  tune(s, "cpu", {.trials = 1});  // here
}
