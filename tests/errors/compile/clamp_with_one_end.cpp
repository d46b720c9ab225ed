// expect: weft: clamp takes another number of expressions
// fix: return algorithm("p", C(m, n) = max(sum(k, A(m, k) * B(k, n)), 0));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = clamp(sum(k, A(m, k) * B(k, n)), 0));  // here
}
