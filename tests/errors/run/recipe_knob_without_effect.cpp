// expect: a knob of the recipe would have no effect
// expect: tile_m = 32
// expect: hb_ell:every=8
// fix: hb_ell(product(), as(parse_format("hb_ell:every=8")), gpu(), {.tile_m = 32});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_knob_without_effect) {
  hb_ell(product(), as(formats::hb_ell()), gpu(), {.tile_m = 32});  // here
}
