// expect: a schedule has no algorithm
// expect: an Algorithm without operands
// expect: algorithm("spmm"
// fix: schedule(product(), as(formats::csr()), target_named("cpu"));
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(schedule_of_no_algorithm) {
  schedule(Algorithm(), target_named("cpu"));  // here
}
