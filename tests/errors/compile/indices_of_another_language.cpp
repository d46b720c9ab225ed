// expect: weft: there is no Var
// expect: WEFT_INDEX(m, n, k);
// fix:   WEFT_INDEX(m, n, k);
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program(const Tensor<f32, 2>& A, const Tensor<f32, 2>& B, const Tensor<f32, 2>& C) {
  Var m("m"), n("n"), k("k");  // here
  return algorithm("p", C(m, n) = relu(sum(k, A(m, k) * B(k, n + 1))));
}
