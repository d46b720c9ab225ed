// expect: weft: an index that is summed over stands in the output
// names: {"k"}
// fix: return algorithm("program", Tensor<f16, 2>("C", {4, 6})(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  return algorithm("program", Tensor<f16, 3>("C", {4, 6, 5})(m, n, k) = sum(k, A(m, k) * B(k, n)));  // here
}
