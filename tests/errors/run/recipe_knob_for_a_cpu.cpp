// expect: knobs of shfl_bw would have no effect
// expect: stages = 2 for cpu
// expect: sm_90a
// fix: shfl_bw(product(), as(formats::shfl_bw()), gpu(), {.stages = 2});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_knob_for_a_cpu) {
  shfl_bw(product(), as(formats::shfl_bw()), target_named("cpu"), {.stages = 2});  // here
}
