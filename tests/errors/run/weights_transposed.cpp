// expect: the weights do not have the shape of A
// expect: spmm: C[m, n] = sum(k, A[m, k] * B[k, n])
// expect: found:    [4, 6], 4 rows and 6 columns
// expect: [6, 4], which is that of their transpose
// fix: const SparseTensor packed = pack(from_dense(Array(DType::f32, {6, 4}), "made"), formats::csr());
#include <weft/dsl/assignment.h>
#include <weft/scheduler/program/schedule.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(weights_transposed) {
  const Tensor<f32, 2, sparse> A("A", {6, 4});
  const Tensor<f32, 2> B("B", {4, 5}), C("C", {6, 5});
  const SparseTensor packed = pack(from_dense(Array(DType::f32, {4, 6}), "made"), formats::csr());  // there
  schedule(algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n))), packed, target_named("cpu"));    // here
}
