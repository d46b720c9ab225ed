// expect: index k is 64 in A and 16 in X
// expect: accepted: 64 elements, as in A; or X(n, k), whose dimension 1 has 64
// fix: algorithm("linear", Y(n, m) = sum(k, A(m, k) * X(n, k)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(extents_of_indices_exchanged) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> X("X", {16, 64}), Y("Y", {16, 8});
  algorithm("linear", Y(n, m) = sum(k, A(m, k) * X(k, n)));  // here
}
