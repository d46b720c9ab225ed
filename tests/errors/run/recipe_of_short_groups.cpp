// expect: the recipe shfl_bw does not fit
// expect: groups of 8 rows
// expect: V = 16 or more
// fix: shfl_bw(product(), as(formats::shfl_bw({.rows = 16})), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_of_short_groups) {
  shfl_bw(product(), as(formats::shfl_bw({.rows = 8})), gpu());  // here
}
