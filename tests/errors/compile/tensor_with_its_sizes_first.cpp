// expect: weft: a tensor is not made of a name and its sizes in braces
// expect: the name first
// fix: Tensor<f32, 2> B("B", {96, 128});
#include <weft/dsl/assignment.h>

using namespace weft;

void program() {
  Tensor<f32, 2> B({96, 128}, "B");  // here
}
