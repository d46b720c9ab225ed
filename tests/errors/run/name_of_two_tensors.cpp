// expect: the name "A" is given twice
// fix: const Tensor<f32, 2> B("B", {64, 16}), C("C", {8, 16});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(name_of_two_tensors) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("A", {64, 16}), C("C", {8, 16});     // there
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
