// expect: weft: a sum takes a product of two accesses; found: a product of three accesses
// expect: a tensor with k multiplied into the values of A or B before
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
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n) * B(k, n)));  // here
}
