// expect: weft: an index stands twice in the output
// names: {"m"}
// fix: return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 4}), C("C", {4, 4});
  return algorithm("program", C(m, m) = sum(k, A(m, k) * B(k, m)));  // here
}
