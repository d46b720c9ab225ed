// expect: index r has no size
// expect: only sums such as r + 1
// expect: a tensor that is indexed with r alone
// fix: algorithm("filter", O(p) = sum(r, W(r) * I(p + r)));
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(index_without_a_size) {
  WEFT_INDEX(p);
  WEFT_INDEX(r);
  const Tensor<f32, 1> W("W", {8}), I("I", {10}), O("O", {8});
  algorithm("filter", O(p) = sum(r, W(p) * I(p + r)));  // here
}
