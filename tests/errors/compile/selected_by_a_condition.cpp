// expect: weft: an expression is compared, and an algorithm has no conditions
// fix: return algorithm("relu", C(m, n) = relu(sum(k, A(m, k) * B(k, n))));
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const auto total = sum(k, A(m, k) * B(k, n));
  return algorithm("relu", C(m, n) = select(total > 0, total, 0));  // here
}
