// expect: weft: a tensor outside of the sum is wider than the type in which the sum runs
// fix: const Tensor<f32, 1> bias("bias", {4});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, 6});
  const Tensor<f16, 2> C("C", {4, 6});
  const Tensor<f64, 1> bias("bias", {4});                                      // there
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)) + bias(m));  // here
}
