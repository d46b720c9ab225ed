// expect: the name "k" is given twice
// expect: a name of a tensor and of an index
// expect: names of their own
// fix: const Tensor<f32, 2> B("B", {64, 16});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(tensor_named_like_an_index) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("k", {64, 16});  // there
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
