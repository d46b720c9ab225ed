// expect: weights
// expect: 128
// expect: 96
// fix: schedule(product(), as(formats::csr()), target_named("cpu"));
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(schedule_of_another_shape) {
  schedule(spmm_algorithm(96, 128, 256, DType::f16), as(formats::csr()), target_named("cpu"));  // here
}
