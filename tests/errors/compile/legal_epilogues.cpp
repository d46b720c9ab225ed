// legal
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program(int which) {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6}), C("C", {4, 6}), up("up", {4, 6});
  const Tensor<f16, 1> bias("bias", {4});
  const Scalar alpha("alpha");
  const auto product = sum(k, A(m, k) * B(k, n));
  if (which == 0) return algorithm("program", C(m, n) = clamp(product, 0, 6));
  if (which == 1) return algorithm("program", C(m, n) = max(0.0f, product) / alpha);
  if (which == 2) return algorithm("program", C(m, n) = min(product / 2, bias(m)));
  if (which == 3) return algorithm("program", C(m, n) = silu(product + bias(m)) * up(m, n));
  return algorithm("program", C(m, n) = sigmoid(tanh(product)) / max(up(m, n), 1e-3));
}
