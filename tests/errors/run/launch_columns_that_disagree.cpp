// expect: operand C and the operands before it disagree about N
// expect: found:    N = 90
// expect: N = 100, as in these: an array of [12, 100]
// fix: Array b(DType::f32, {20, 100}), c(DType::f32, {12, 100});
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_columns_that_disagree) {
  const Kernel any = exportable(Extent::any("N"), "cpu");
  Array b(DType::f32, {20, 100}), c(DType::f32, {12, 90});  // there
  any(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});         // here
}
