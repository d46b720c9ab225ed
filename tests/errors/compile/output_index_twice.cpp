// expect: weft: an index stands twice in the output
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 1> x("x", {5});
  const Tensor<f16, 2> C("C", {4, 4});
  return algorithm("program", C(m, m) = sum(k, A(m, k) * x(k)));
}
