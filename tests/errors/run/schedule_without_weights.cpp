// expect: the sparse operand A has no weights
// expect: schedule(algorithm, weights, target)
// fix: schedule(product(DType::f32), as(formats::csr(), DType::f32), target_named("cpu"));
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(schedule_without_weights) {
  schedule(product(DType::f32), target_named("cpu"));  // here
}
