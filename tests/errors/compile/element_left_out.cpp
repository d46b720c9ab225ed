// expect: weft: an element type is not one of f16, bf16, f32, f64, e4m3, e5m2 and i8; found: none
// expect: such as Tensor<f32, 2>
// fix: const Tensor<f16, 2> W("W", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor W("W", {4, 5});  // here
  return W.name();
}
