// expect: the result leaves the element type of the output
// expect: 1000000 where every tensor is 0, stored to C as f16, which holds numbers up to 65504
// expect: an output of f32
// fix: const Tensor<f32, 2> C("C", {8, 16});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(number_beyond_f16) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f16, 2, sparse> A("A", {8, 64});
  const Tensor<f16, 2> B("B", {64, 16});
  const Tensor<f16, 2> C("C", {8, 16});                             // there
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)) + 1e6);  // here
}
