// expect: weft: a Scalar is made of a number
// expect: its name, Scalar alpha("alpha")
// fix: const Scalar alpha("alpha");
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  const Scalar alpha(2.0);  // here
  return algorithm("program", C(m, n) = alpha * sum(k, A(m, k) * B(k, n)));
}
