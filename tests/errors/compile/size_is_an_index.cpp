// expect: weft: a size is an index
// expect: Extent::any("N")
// fix: const Tensor<f32, 2> B("B", {5, Extent::any("N")});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<f32, 2> B("B", {5, n});  // here
  return B.name();
}
