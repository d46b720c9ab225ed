// expect: a dimension of tensor C has no elements
// expect: 0 in sizes {8, 0}
// expect: at least 1
// fix: const Tensor<f32, 2> C("C", {8, 16});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(size_of_zero) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 0});                        // there
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
