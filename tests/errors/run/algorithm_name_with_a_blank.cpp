// expect: a name is not an identifier: algorithm
// expect: "my product"
// expect: letters, digits and single underscores
// fix: algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(algorithm_name_with_a_blank) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {8, 64});
  const Tensor<f32, 2> B("B", {64, 16});
  const Tensor<f32, 2> C("C", {8, 16});
  algorithm("my product", C(m, n) = sum(k, A(m, k) * B(k, n)));  // here
}
