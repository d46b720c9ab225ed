// expect: no recipe that was asked for takes the problem
// expect: cpu_rows: sm_90a is no CPU
// expect: recipes that take it: default, sparsert
// fix: auto_kernel(product(DType::f32), matrix(), gpu(), {.recipes = {"default"}}, {.assemble = false});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_a_recipe_for_others) {
  auto_kernel(product(DType::f32), matrix(), gpu(), {.recipes = {"cpu_rows"}});  // here
}
