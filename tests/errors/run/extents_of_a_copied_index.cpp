// expect: index m is 8 in A and 64 in X
// expect: accepted: 8 elements, as in A; or X(k, n), as k has 64
// fix: algorithm("linear", Y(m, n) = sum(k, A(m, k) * X(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(extents_of_a_copied_index) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> X("X", {64, 16}), Y("Y", {8, 16});
  algorithm("linear", Y(m, n) = sum(k, A(m, k) * X(m, n)));  // here
}
