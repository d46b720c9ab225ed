// expect: weft: a tensor is not made of a name and its sizes in braces
// expect: found: the types beside Others
// fix: Tensor<f32, 2> B("B", {96, 128});
#include <weft/dsl/assignment.h>

using namespace weft;

void program() {
  Tensor<f32, 2> B("B", 96, 128);  // here
}
