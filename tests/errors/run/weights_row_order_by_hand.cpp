// expect: a packed weight in format csr:order=length is damaged
// expect: row_order[3]
// expect: row 900
// expect: 0 to 5
// fix: order.set(3, packed.array("row_order").get(3));
#include <weft/dsl/assignment.h>
#include <weft/formats/random.h>
#include <weft/scheduler/program/schedule.h>

#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(weights_row_order_by_hand) {
  const Tensor<f32, 2, sparse> A("A", {6, 4});
  const Tensor<f32, 2> B("B", {4, 5}), C("C", {6, 5});
  const SparseTensor packed = pack(from_dense(random_array(DType::f32, {6, 4}, 1), "made"),
                                   formats::csr({.order = RowOrder::by_length}));
  std::vector<SparseTensor::NamedArray> arrays = packed.arrays();
  Array& order = arrays.front().array;
  order.set(3, 900);  // there
  const SparseTensor by_hand(packed.format(), packed.shape(), 6, 4, packed.levels(), arrays);
  schedule(algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n))), by_hand, target_named("cpu"));  // here
}
