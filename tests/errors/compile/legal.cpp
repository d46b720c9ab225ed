// legal
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  const Tensor<f32, 1> bias("bias", {4});
  const Scalar alpha("alpha"), beta("beta");
  return algorithm("program", C(m, n) = gelu(alpha * sum(k, A(m, k) * B(k, n)) + beta * C(m, n) - bias(m)));
}
