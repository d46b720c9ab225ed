// expect: operand B is too small for its strides
// expect: 2000 elements, and strides of [400, 4]
// expect: strides of [100, 1], if those are bytes, since they are counted in elements
// fix:   const auto B = Tensor<f32, 2>("B", {20, 100}).strided({100, 1});
#include <weft/dsl/assignment.h>

#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(strides_in_bytes) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  LaunchedProduct launched;
  const Tensor<f32, 2, sparse> A("A", {12, 20});
  const Tensor<f32, 2> C("C", {12, 100});
  const auto B = Tensor<f32, 2>("B", {20, 100}).strided({400, 4});  // there
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const Kernel kernel =
      compile(Schedule(product, launched.kernel.schedule().shared_weights(), target_named("cpu")));
  kernel(Device::cpu(), launched.arguments);  // here
}
