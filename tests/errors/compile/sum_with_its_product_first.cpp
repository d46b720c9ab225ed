// expect: weft: a sum takes one index or more before its product
// expect: then the product, such as sum(k, A(m, k) * B(k, n))
// fix: return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(A(m, k) * B(k, n), k));  // here
}
