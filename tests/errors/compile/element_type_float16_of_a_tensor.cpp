// expect: weft: there is no float16; accepted: f16, as in Tensor<f16, 2>
// fix: const Tensor<f16, 2> B("B", {4, 5});
#include <weft/dsl/tensor.h>

using namespace weft;

void program() {
  const Tensor<float16, 2> B("B", {4, 5});  // here
}
