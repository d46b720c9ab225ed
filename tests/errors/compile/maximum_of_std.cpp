// expect: weft: an expression is compared
// expect: without std::
// fix: return algorithm("p", C(m, n) = sum(k, A(m, k) * B(k, n)) + max(C(m, n), C(m, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m, n, k);
  return algorithm("p", C(m, n) = sum(k, A(m, k) * B(k, n)) + std::max(C(m, n), C(m, n)));  // here
}
