// expect: a warp is no part of its tile
// expect: warp_n = 128 in tile_m
// expect: warp_n = 64
// fix: shfl_bw(product(), as(formats::shfl_bw()), gpu(), {.tile_n = 64, .warp_n = 32});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_warp_beyond_its_tile) {
  shfl_bw(product(), as(formats::shfl_bw()), gpu(), {.tile_n = 64, .warp_n = 128});  // here
}
