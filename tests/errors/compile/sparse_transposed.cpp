// expect: weft: the sparse operand is not indexed with output indices first
// expect: found: a sparse operand whose first index is one that is summed over
// fix: return algorithm("program", C(m, n) = sum(k, Tensor<f16, 2, sparse>("A", {4, 5})(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, Tensor<f16, 2, sparse>("A", {5, 4})(k, m) * B(k, n)));  // here
}
