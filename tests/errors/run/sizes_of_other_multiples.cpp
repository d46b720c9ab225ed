// expect: index n is Extent::any("N", 8) in B and Extent::any("N") in C
// expect: accepted: Extent::any("N", 8) elements, as in B
// fix: const Tensor<f32, 2> C("C", {8, Extent::any("N", 8)});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(sizes_of_other_multiples) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, Extent::any("N", 8)});
  const Tensor<f32, 2> C("C", {8, Extent::any("N")});      // there
  algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
