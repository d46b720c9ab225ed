// expect: an expression is divided by 0
// expect: another number
// fix: algorithm("mean", C(m, n) = sum(k, A(m, k) * B(k, n)) / 64);
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(sum_divided_by_nothing) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("mean", C(m, n) = sum(k, A(m, k) * B(k, n)) / (64 - 64));  // here
}
