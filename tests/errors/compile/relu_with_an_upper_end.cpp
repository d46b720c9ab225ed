// expect: weft: relu takes another number of expressions
// expect: clamp(x, 0, 6)
// fix: return algorithm("program", C(m, n) = clamp(sum(k, A(m, k) * B(k, n)), 0, 6));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = relu(sum(k, A(m, k) * B(k, n)), 6));  // here
}
