// expect: the strides of tensor B do not fit its shape
// expect: a stride of 0
// expect: strides of at least 1
// fix: const auto B = Tensor<f32, 2>("B", {64, 16}).strided({16, 1});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(stride_of_zero) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const auto B = Tensor<f32, 2>("B", {64, 16}).strided({16, 0});  // there
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
