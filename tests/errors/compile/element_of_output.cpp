// expect: weft: the output's element type does not fit the factors; found: f64, beside factors of f16
// fix: const Tensor<f16, 2> C("C", {4, 6});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f64, 2> C("C", {4, 6});                               // there
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
