// expect: weft: a tensor stands in an expression without its indices
// expect: an index a dimension
// fix: return algorithm("program", C(m, n) = max(sum(k, A(m, k) * B(k, n)), bias(m)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  const Tensor<f16, 1> bias("bias", {4});
  return algorithm("program", C(m, n) = max(sum(k, A(m, k) * B(k, n)), bias));  // here
}
