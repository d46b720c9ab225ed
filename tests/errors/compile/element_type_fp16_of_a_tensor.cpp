// expect: weft: there is no fp16; accepted: f16, as in Tensor<f16, 2>
// fix: const Tensor<f16, 2> B("B", {4, 5});
#include <weft/dsl/tensor.h>

using namespace weft;

void program() {
  const Tensor<fp16, 2> B("B", {4, 5});  // here
}
