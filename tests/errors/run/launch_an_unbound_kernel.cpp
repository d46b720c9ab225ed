// expect: an empty BoundKernel is used
// expect: Kernel::bind()
// fix:   launched.bound().launch(nullptr);
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_an_unbound_kernel) {
  LaunchedProduct launched;
  const BoundKernel bound;
  bound.launch(nullptr);  // here
}
