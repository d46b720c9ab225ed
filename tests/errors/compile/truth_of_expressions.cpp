// expect: weft: bits or the truth of an expression are taken
// fix: return algorithm("p", C(m, n) = min(sum(k, A(m, k) * B(k, n)), C(m, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = sum(k, A(m, k) * B(k, n)) && C(m, n));  // here
}
