// expect: the sum is multiplied by 0
// expect: 1 / 2 of whole numbers is 0 in C++
// fix: algorithm("half", C(m, n) = 0.5 * sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(sum_multiplied_by_nothing) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("half", C(m, n) = 1 / 2 * sum(k, A(m, k) * B(k, n)));  // here
}
