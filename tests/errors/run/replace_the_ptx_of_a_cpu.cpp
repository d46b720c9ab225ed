// expect: replacing a kernel's PTX
// expect: the target cpu
// fix:   compile(test::spmm_schedule("sm_80"), {.assemble = false}).with_ptx(".version 7.0");
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(replace_the_ptx_of_a_cpu) {
  LaunchedProduct launched;
  launched.kernel.with_ptx(".version 7.0");  // here
}
