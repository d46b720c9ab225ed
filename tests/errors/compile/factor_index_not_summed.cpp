// expect: weft: an index of a factor is neither in the output nor summed over
// names: {"n"}
// fix: return algorithm("program", y(m) = sum(k, A(m, k) * x(k)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

Algorithm program() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 1> x("x", {5}), y("y", {4});
  return algorithm("program", y(m) = sum(k, A(m, k) * x(k + n)));  // here
}
