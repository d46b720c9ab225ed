// expect: an option is of kernels for CPUs
// expect: .threads = 4
// expect: the schedule's target sm_80, a GPU
// fix:   compile(test::spmm_schedule("cpu"), {.threads = 4});
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_a_gpu_for_threads) {
  compile(test::spmm_schedule("sm_80"), {.threads = 4});  // here
}
