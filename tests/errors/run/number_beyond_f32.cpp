// expect: a number is beyond the type in which the sum runs
// expect: 1e+39 in f32
// expect: numbers from -3.4028e+38 to 3.4028e+38
// fix: algorithm("product", C(m, n) = 1e38 * sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(number_beyond_f32) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = 1e39 * sum(k, A(m, k) * B(k, n)));  // here
}
