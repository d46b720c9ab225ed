// expect: a number is 0 in the type in which the sum runs
// expect: 1e-50 in f32
// expect: at least 1.4013e-45 in size
// fix: algorithm("product", C(m, n) = 1e-44 * sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(number_that_vanishes) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = 1e-50 * sum(k, A(m, k) * B(k, n)));  // here
}
