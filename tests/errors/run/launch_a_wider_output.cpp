// expect: operand C has another element type
// expect: accepted: f16; or C declared as Tensor<f32, 2>
// fix:   const Tensor<f32, 2> C("C", {32, 8});
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/formats/synthetic.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(launch_a_wider_output) {
  WEFT_INDEX(m, n, k);
  const Tensor<f16, 2, sparse> A("A", {32, 48});
  const Tensor<f16, 2> B("B", {48, 8});
  const Tensor<f16, 2> C("C", {32, 8});  // there
  const WeightMatrix layer = synthetic_layer({.rows = 32, .columns = 48, .dtype = DType::f16});
  const Kernel kernel = compile(schedule(algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n))),
                                         pack(layer, formats::csr()), target_named("cpu")));
  Array b(DType::f16, {48, 8}), c(DType::f32, {32, 8});
  kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});  // here
}
