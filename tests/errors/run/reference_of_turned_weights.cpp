// expect: the weights do not have the shape of A
// expect: [20, 12]
// expect: [12, 20], which is that of their transpose
// fix:   reference(schedule.algorithm(), schedule.weights(), launched.arguments);
#include <weft/backends/reference.h>

#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(reference_of_turned_weights) {
  LaunchedProduct launched;
  const Schedule& schedule = launched.kernel.schedule();
  const SparseTensor turned = pack(from_dense(Array(DType::f32, {20, 12}), "turned"), formats::csr());
  reference(schedule.algorithm(), &turned, launched.arguments);  // here
}
