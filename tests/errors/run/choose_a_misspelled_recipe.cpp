// expect: there is no such recipe
// expect: sparse_rt
// expect: did you mean sparsert?
// fix: auto_kernel(product(DType::f32), matrix(), gpu(), {.recipes = {"sparsert"}}, {.assemble = false});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_a_misspelled_recipe) {
  auto_kernel(product(DType::f32), matrix(), gpu(), {.recipes = {"sparse_rt"}});  // here
}
