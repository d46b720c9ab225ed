// expect: tensor B is larger than any memory
// expect: sizes {64, 1125899906842624}
// expect: at most 2^48
// fix: const Tensor<f32, 2> B("B", {64, 16});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(size_beyond_memory) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 1LL << 50});  // there
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
