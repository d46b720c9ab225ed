// expect: numbers of the epilogue leave the type in which the sum runs
// expect: 1e+60 where every tensor is 0
// expect: smaller numbers beside the sum
// fix: algorithm("product", C(m, n) = 1e30 * (sum(k, A(m, k) * B(k, n)) + 1e3));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(numbers_that_leave_f32) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = 1e30 * (sum(k, A(m, k) * B(k, n)) + 1e30));  // here
}
