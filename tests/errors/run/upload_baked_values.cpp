// expect: the weights are in the code of the kernel
// expect: found:    A.values
// expect: a schedule without the steps that leave A.values out
// fix: s.parallel(m.outer);
#include "illegal_launch.h"
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(upload_baked_values) {
  auto s = spmm_schedule("cpu");
  s.split(m = 4);
  s.bake_values(m.inner);  // there
  LaunchedProduct launched{.kernel = compile(s)};
  launched.bound().upload("A.values", s.weights()->array("values"));  // here
}
