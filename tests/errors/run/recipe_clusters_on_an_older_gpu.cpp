// expect: sm_86 has no clusters of thread blocks
// expect: tried, and legal: cluster = 2 left out
// fix: v_n_m(product(), as(formats::column_quads()), target_named("sm_86"), {.stages = 2});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_clusters_on_an_older_gpu) {
  const Target& older = target_named("sm_86");
  v_n_m(product(), as(formats::column_quads()), older, {.stages = 2, .cluster = 2});  // here
}
