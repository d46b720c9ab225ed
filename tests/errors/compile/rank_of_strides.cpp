// expect: weft: a tensor is given a number of strides that is not its rank
// fix: const auto B = Tensor<f16, 2>("B", {5, 6}).strided({7, 1});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const auto B = Tensor<f16, 2>("B", {5, 6}).strided({7});  // here
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));
}
