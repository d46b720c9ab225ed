// expect: weft: an element type is not one of f16, bf16, f32, f64, e4m3, e5m2 and i8
// expect: one of these
// fix: const Tensor<f16, 2> B("B", {5, 6});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<char, 2> B("B", {5, 6});  // here
  return B.name();
}
