// expect: weft: a tensor is not made of a name and its sizes in braces
// expect: Tensor<f32, 2> A("A", {4, 5})
// fix: const Tensor<f32, 2> B("B", {5, 6});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<f32, 2> B("B", 5, 6);  // here
  return B.name();
}
