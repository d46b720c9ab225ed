// expect: weft: a tensor has a number where its storage belongs
// expect: found: a number in the third place
// expect: Tensor<f32, 2, sparse>
// fix: const Tensor<f32, 2, sparse> W("W", {4, 5});
#include <weft/dsl/assignment.h>

using namespace weft;

std::string program() {
  const Tensor<f32, 2, 1> W("W", {4, 5});  // here
  return W.name();
}
