// expect: weft: there is no bfloat16; accepted: bf16, as in Tensor<bf16, 2>
// fix: const Tensor<bf16, 2> B("B", {4, 5});
#include <weft/dsl/tensor.h>

using namespace weft;

void program() {
  const Tensor<bfloat16, 2> B("B", {4, 5});  // here
}
