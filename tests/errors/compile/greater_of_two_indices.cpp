// expect: weft: the greater or the lesser of two indices is taken
// fix: return algorithm("p", C(m, n) = sum(k, A(m, k) * B(k - 1, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = sum(k, A(m, k) * B(max(k - 1, 0), n)));  // here
}
