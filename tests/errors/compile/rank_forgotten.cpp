// expect: weft: a tensor has its storage where its rank belongs
// expect: Tensor<f32, 2, sparse>
// fix: const Tensor<f32, 2, sparse> W("W", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<f32, sparse> W("W", {4, 5});  // here
  return W.name();
}
