// expect: the old output is read at another place than is written
// expect: C(n, m)
// expect: accepted: C(m, n)
// fix: algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)) + C(m, n));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(old_output_elsewhere) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2> A("A", {16, 16});
  const Tensor<f32, 2> B("B", {16, 16});
  const Tensor<f32, 2> C("C", {16, 16});
  algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)) + C(n, m));  // here
}
