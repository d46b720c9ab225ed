// expect: weft: an element type is not one of f16, bf16, f32 and f64
// fix: const Tensor<f32, 2> A("A", {4, 5}), B("B", {5, 6}), C("C", {4, 6});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<int, 2> A("A", {4, 5}), B("B", {5, 6}), C("C", {4, 6});  // here
  return algorithm("program", C(m, n) = sum(k, A(m, k) * B(k, n)));
}
