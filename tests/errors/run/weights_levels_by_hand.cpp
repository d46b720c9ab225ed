// expect: a packed weight is not laid out as its format csr
// expect: level 1
// expect: accepted: compressed, of columns, stride 1
// expect: as pack(weights, format) makes it
// fix: levels[1].stride = 1;
#include <weft/dsl/assignment.h>
#include <weft/scheduler/program/schedule.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(weights_levels_by_hand) {
  const Tensor<f32, 2, sparse> A("A", {6, 4});
  const Tensor<f32, 2> B("B", {4, 5}), C("C", {6, 5});
  const SparseTensor packed = pack(from_dense(Array(DType::f32, {6, 4}), "made"), formats::csr());
  std::vector<Level> levels = packed.levels();
  levels[1].stride = 2;  // there
  const SparseTensor by_hand(packed.format(), packed.shape(), 6, 4, levels, packed.arrays());
  schedule(algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n))), by_hand, target_named("cpu"));  // here
}
