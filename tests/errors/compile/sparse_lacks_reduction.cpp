// expect: weft: the sparse operand is not indexed with output indices first
// expect: found: a sparse operand without an index that is summed over
// fix: return algorithm("program", C(m, n) = sum(k, z, W(m, k, z) * B(k, z, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(z);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 3, sparse> W("W", {4, 5, 3});
  const Tensor<f16, 3> B("B", {5, 3, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, z, A(m, k) * B(k, z, n)));  // here
}
