// expect: an empty Kernel is used
// expect: compile()
// fix:   compile(test::spmm_schedule("cpu")).program_text();
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(print_an_empty_kernel) {
  const Kernel kernel;
  kernel.program_text();  // here
}
