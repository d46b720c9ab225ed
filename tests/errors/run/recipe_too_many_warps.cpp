// expect: the recipe shfl_bw with tile_n = 256, warp_m = 16, warp_n = 8
// expect: at most 32 warps in a nest
// expect: tried, and legal: warp_n = 8 left out
// fix: const ShflBwKnobs knobs{.tile_n = 256, .warp_m = 16};
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_too_many_warps) {
  const ShflBwKnobs knobs{.tile_n = 256, .warp_m = 16, .warp_n = 8};         // there
  shfl_bw(product(), as(formats::shfl_bw()), target_named("sm_80"), knobs);  // here
}
