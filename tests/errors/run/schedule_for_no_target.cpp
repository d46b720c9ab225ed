// expect: a schedule has no target
// expect: target_named("cpu")
// fix: schedule(product(), as(formats::csr()), target_named("cpu"));
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(schedule_for_no_target) {
  schedule(product(), as(formats::csr()), Target());  // here
}
