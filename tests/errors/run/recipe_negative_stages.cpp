// expect: a knob of shfl_bw is out of its range
// expect: stages = -1
// expect: stages from 1 to 8
// fix: shfl_bw(product(), as(formats::shfl_bw()), gpu(), {.stages = 2});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_negative_stages) {
  shfl_bw(product(), as(formats::shfl_bw()), gpu(), {.stages = -1});  // here
}
