// expect: weft: a size is not an integer
// expect: an integer such as 64
// fix: const Tensor<f32, 2> B("B", {5, 6});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<f32, 2> B("B", {5, 6.5});  // here
  return B.name();
}
