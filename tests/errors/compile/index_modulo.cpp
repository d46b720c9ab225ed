// expect: weft: the rest of an index is taken
// expect: S(inside) beside W(block, inside)
// fix: return algorithm("program", two(block, inside) = sum(r, split(block, inside, r) * S(inside, r)));
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(f);
WEFT_INDEX(r);
WEFT_INDEX(block);
WEFT_INDEX(inside);

Algorithm program() {
  const Tensor<f32, 2> S("S", {32, 3}), W("W", {64, 3});
  const Tensor<f32, 3> split("W", {2, 32, 3});
  const Tensor<f32, 2> two("O", {2, 32});
  const Tensor<f32, 1> O("O", {64});
  return algorithm("program", O(f) = sum(r, W(f, r) * S(f % 32, r)));  // here
}
