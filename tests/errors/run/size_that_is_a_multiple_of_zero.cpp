// expect: a size of tensor B is a multiple of nothing
// expect: N, a multiple of 0
// expect: at least 1
// fix: const Tensor<f32, 2> B("B", {64, Extent::any("N", 8)}), C("C", {8, Extent::any("N", 8)});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(size_that_is_a_multiple_of_zero) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, Extent::any("N", 0)}), C("C", {8, Extent::any("N", 0)});  // there
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));                                 // here
}
