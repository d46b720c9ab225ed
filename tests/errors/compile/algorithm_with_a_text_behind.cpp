// expect: weft: algorithm is not given what it takes
// expect: algorithm("product", C(m, n) = sum(
// fix: return algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  return algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)), "relu");  // here
}
