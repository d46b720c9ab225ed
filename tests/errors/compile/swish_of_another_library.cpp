// expect: weft: an algorithm has no operation swish
// expect: accepted: silu(x)
// fix: return algorithm("p", C(m, n) = silu(sum(k, A(m, k) * B(k, n))));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = swish(sum(k, A(m, k) * B(k, n))));  // here
}
