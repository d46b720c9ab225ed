// expect: weft: a tensor stands in an expression without its indices
// fix: return algorithm("p", C(m, n) = clamp(C(m, n), 0, sum(k, A(m, k) * B(k, n))));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = clamp(A, 0, sum(k, A(m, k) * B(k, n))));  // here
}
