// expect: the name "n" is given twice
// expect: a name of an index and of a size
// expect: names of their own
// fix: const Tensor<f32, 2> B("B", {64, Extent::any("N")}), C("C", {8, Extent::any("N")});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(size_named_like_an_index) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, Extent::any("n")}), C("C", {8, Extent::any("n")});  // there
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));                           // here
}
