// expect: operand B has another shape
// fix: verify(product.kernel, Device::cpu(), product.arguments);
#include <weft/weft.h>

#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(verify_columns_that_do_not_fit) {
  LaunchedProduct product;
  Array other(DType::f32, {20, 99});
  verify(product.kernel, Device::cpu(), {{{"B", &other}, {"C", &product.c}}, {}});  // here
}
