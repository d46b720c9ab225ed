// expect: the output is a factor of its own sum
// expect: the old output may be read outside of the sum
// fix: algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(output_as_a_factor) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2> A("A", {16, 16});
  const Tensor<f32, 2> B("B", {16, 16});
  const Tensor<f32, 2> C("C", {16, 16});
  algorithm("product", C(m, n) = sum(k, C(m, k) * B(k, n)));  // here
}
