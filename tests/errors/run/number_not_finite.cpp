// expect: a number is not finite
// expect: found:    inf
// expect: numbers from -3.4028e+38 to 3.4028e+38
// fix: algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)) - 3.4e38);
#include <weft/dsl/assignment.h>

#include <cmath>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(number_not_finite) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)) - HUGE_VAL);  // here
}
