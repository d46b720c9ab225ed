// expect: the kernel has no assembly
// expect: found:    the target sm_80
// expect: of this one ptx() or cuda_source()
// fix: kernel.ptx();
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(assembly_of_a_gpu) {
  const Kernel kernel = compile(test::spmm_schedule("sm_80"), {.assemble = false});
  kernel.assembly();  // here
}
