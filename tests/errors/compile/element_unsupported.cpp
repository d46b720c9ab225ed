// expect: weft: an element type is not one of f16, bf16, f32, f64, e4m3, e5m2 and i8; found: an 8-bit integer
// fix: const Tensor<f32, 2, sparse> A("A", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<std::uint8_t, 2, sparse> A("A", {4, 5});  // here
  const Tensor<f32, 2> B("B", {5, 6}), C("C", {4, 6});
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));
}
