// expect: the name "A" is given twice
// expect: a name of a tensor and of a scalar
// expect: names of their own
// fix: const Scalar alpha("alpha");
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(scalar_named_like_a_tensor) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  const Scalar alpha("A");                                            // there
  algorithm("product", C(m, n) = alpha * sum(k, A(m, k) * B(k, n)));  // here
}
