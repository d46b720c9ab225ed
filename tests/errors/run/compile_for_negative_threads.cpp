// expect: a kernel cannot have that number of threads
// expect: -4 threads
// expect: or 0 for one a core
// fix:   compile(test::spmm_schedule("cpu"), {.threads = 4});
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_for_negative_threads) {
  compile(test::spmm_schedule("cpu"), {.threads = -4});  // here
}
