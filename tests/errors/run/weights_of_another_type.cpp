// expect: the weights do not have the element type of A
// expect: found:    f64
// expect: converted(weights, DType::f32)
// fix: const SparseTensor packed = pack(converted(weights, DType::f32), formats::csr());
#include <weft/dsl/assignment.h>
#include <weft/scheduler/program/schedule.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(weights_of_another_type) {
  const Tensor<f32, 2, sparse> A("A", {6, 4});
  const Tensor<f32, 2> B("B", {4, 5}), C("C", {6, 5});
  const WeightMatrix weights = from_dense(Array(DType::f64, {6, 4}), "made");
  const SparseTensor packed = pack(weights, formats::csr());                                      // there
  schedule(algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n))), packed, target_named("cpu"));  // here
}
