// expect: the sum stands in a divisor
// expect: sum(k, A(m, k) * B(k, n)) / length(n)
// fix: algorithm("inverse", C(m, n) = sum(k, A(m, k) * B(k, n)) / 1);
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(sum_as_a_divisor) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("inverse", C(m, n) = 1 / sum(k, A(m, k) * B(k, n)));  // here
}
