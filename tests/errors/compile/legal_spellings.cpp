// legal
// What could be written otherwise: indices in one line, the word dense, a tensor in braces, numbers for the
// values of a knob.
#include <weft/dsl/assignment.h>
#include <weft/search/trials/tune.h>

using namespace weft;

WEFT_INDEX(m, n, k);
WEFT_INDEX(i1, i2, i3, i4, i5, i6, i7, i8);

Algorithm program(TuneOptions& options) {
  options.limits = {{"rows", {8, 16}}, {"form", {"baked"}}};
  options.limits["groups"] = {0};
  const Tensor<f32, 2, sparse> A("A", {4, 5});
  const Tensor<f32, 2, dense> B("B", {5, 6});
  const Tensor<f32, 2> C{"C", {4, 6}};
  const int dense = 1;
  return algorithm(dense == 1 ? "product" : "other", C(m, n) = sum(k, A(m, k) * B(k, n)));
}
