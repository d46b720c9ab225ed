// expect: weft: bits or the truth of an index are taken
// expect: such as I(2 * p + r - 1)
// fix: return algorithm("p", C(m, n) = sum(k, A(m, k) * B(2 * k, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = sum(k, A(m, k) * B(k << 1, n)));  // here
}
