// expect: weft: a tensor is given a number of sizes that is not its rank
// expect: Tensor<f32, 2>
// fix: const Tensor<f32, 2> W("W", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<f32> W("W", {4, 5});  // here
  return W.name();
}
