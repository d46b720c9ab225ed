// expect: weft: an index is made of a text
// expect: WEFT_INDEX(i); or Index<"i"> i;
// fix: Index<"i"> i; Index<"j"> j; Index<"l"> l;
#include <weft/dsl/assignment.h>

using namespace weft;

Algorithm program() {
  Index i("i"), j("j"), l("l");  // here
  const Tensor<f32, 2, sparse> A("A", {4, 5});
  const Tensor<f32, 2> B("B", {5, 6}), C("C", {4, 6});
  return algorithm("program", C(i, j) = sum(l, A(i, l) * B(l, j)));
}
