// expect: finding a kernel in a module
// expect: no 'nosuch'
// expect: spmm
// fix:   Module::load(Device::simulator("sm_80"), ptx).function("spmm");
#include <weft/backends/runtime/module.h>

#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(find_no_kernel) {
  const std::string ptx = compile(test::spmm_schedule("sm_80"), {.assemble = false}).ptx();
  Module::load(Device::simulator("sm_80"), ptx).function("nosuch");  // here
}
