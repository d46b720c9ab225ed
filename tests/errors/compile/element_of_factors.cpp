// expect: weft: the factors of the sum have different element types; found: f16 and f32
// fix: const Tensor<f16, 2> B("B", {5, 6});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f32, 2> B("B", {5, 6});  // there
  const Tensor<f16, 2> C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
