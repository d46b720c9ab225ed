// expect: weft: a tensor is given something else than its storage
// expect: Tensor<f32, 2, sparse>
// expect: pack(weights, formats::csr())
// fix: const Tensor<f32, 2, sparse> W("W", {4, 5});
#include <weft/dsl/assignment.h>
#include <weft/formats/sparse_tensor.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::string program() {
  const Tensor<f32, 2, formats::csr> W("W", {4, 5});  // here
  return W.name();
}
