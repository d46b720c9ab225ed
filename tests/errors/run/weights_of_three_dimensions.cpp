// expect: the rows of the weights are not the first 2 dimensions of A
// expect: found:    [2, 3, 4], 2 rows and 12 columns
// expect: 6 rows and 4 columns: read(path, {.row_dimensions = 2})
// fix: const WeightMatrix weights = with_row_dimensions(from_dense(Array(DType::f32, {2, 3, 4}), "made"), 2);
#include <weft/dsl/assignment.h>
#include <weft/scheduler/program/schedule.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(weights_of_three_dimensions) {
  WEFT_INDEX(g);
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 3, sparse> A("A", {2, 3, 4});
  const Tensor<f32, 2> B("B", {4, 5});
  const Tensor<f32, 3> C("C", {2, 3, 5});
  const WeightMatrix weights = from_dense(Array(DType::f32, {2, 3, 4}), "made");  // there
  const SparseTensor packed = pack(weights, formats::csr());
  const Algorithm grouped = algorithm("grouped", C(g, m, n) = sum(k, A(g, m, k) * B(k, n)));
  schedule(grouped, packed, target_named("cpu"));  // here
}
