// expect: weft: there is no transpose
// expect: B(n, k) of Tensor<f32, 2> B("B", {N, K})
// fix: return algorithm("program", C(m, n) = sum(k, A(m, k) * B(n, k)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {6, 5});
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B.transpose()(n, k)));  // here
}
