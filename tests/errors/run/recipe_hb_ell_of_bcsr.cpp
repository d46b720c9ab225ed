// expect: the recipe hb_ell does not fit
// expect: weights in bcsr
// expect: pack(matrix, formats::hb_ell())
// fix: hb_ell(product(), as(formats::hb_ell()), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_hb_ell_of_bcsr) {
  hb_ell(product(), as(formats::bcsr()), gpu());  // here
}
