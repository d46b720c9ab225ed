// expect: weft: a tensor is given a number of strides that is not its rank
// fix: const auto B = Tensor<f32, 2>("B", {5, 6}).strided({6, 1});
#include <weft/dsl/assignment.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const auto B = Tensor<f32, 2, sparse>("B", {5, 6}).strided({6});  // here
  return B.name();
}
