// expect: weft: a sparse tensor has no strides
// fix: const Tensor<f16, 2, sparse> A("A", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const auto A = Tensor<f16, 2, sparse>("A", {4, 5}).strided({5, 1});  // here
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));
}
