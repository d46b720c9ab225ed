// expect: weft: a number in an index has a fraction
// expect: integers, such as I(2 * p + r - 1)
// fix: return algorithm("program", O(p) = sum(r, W(r) * I(2 * p + r - 1)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(p);
WEFT_INDEX(r);
WEFT_INDEX(b);

Algorithm program() {
  const Tensor<f32, 1> W("W", {3}), I("I", {64}), O("O", {32});
  return algorithm("program", O(p) = sum(r, W(r) * I(1.5 * p + r)));  // here
}
