// expect: weft: a tensor is not made of a name and its sizes in braces
// expect: the format of weights is chosen where they are packed
// fix: Tensor<f32, 2, sparse> B("A", {96, 128});
#include <weft/dsl/assignment.h>
#include <weft/formats/format.h>

using namespace weft;

void program() {
  Tensor<f32, 2, sparse> B("A", formats::csr(), {96, 128});  // here
}
