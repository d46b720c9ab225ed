// expect: the strides of tensor C do not fit its shape
// expect: stride 15
// expect: a stride of at least 16 there
// fix: const auto C = Tensor<f32, 2>("C", {8, 16}).strided({16, 1});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(strides_that_overlap) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const auto C = Tensor<f32, 2>("C", {8, 16}).strided({15, 1});  // there
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));     // here
}
