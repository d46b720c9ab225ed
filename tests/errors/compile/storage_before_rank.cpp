// expect: weft: a tensor has its storage where its rank belongs
// expect: found: sparse in the second place
// expect: Tensor<f32, 2, sparse>
// fix: const Tensor<f32, 2, sparse> W("W", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

std::string program() {
  const Tensor<f32, sparse, 2> W("W", {4, 5});  // here
  return W.name();
}
