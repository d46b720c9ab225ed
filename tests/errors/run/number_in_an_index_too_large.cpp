// expect: a number in an index of tensor B is too large
// expect: at most 2^48
// fix: algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(number_in_an_index_too_large) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k + (1LL << 50), n)));  // here
}
