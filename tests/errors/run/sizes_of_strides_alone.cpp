// expect: no launch can tell the size N
// expect: N in operands with strides alone (B, C)
// expect: a number in place of N
// fix:   make(100);
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(sizes_of_strides_alone) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const auto make = [&](const Extent& size, std::source_location place = std::source_location::current()) {
    const Tensor<f32, 2> A("A", {12, 20});
    const Tensor<f32, 2> B = Tensor<f32, 2>("B", {20, size}).strided({128, 1});
    const Tensor<f32, 2> C = Tensor<f32, 2>("C", {12, size}).strided({128, 1});
    const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
    compile(Schedule(product, nullptr, target_named("cpu")), {}, place);
  };
  make(Extent::any("N"));  // here
}
