// expect: groups of sparsert share whole warps
// expect: threads = 48 with groups = 2
// expect: threads = 64, or another multiple of 32
// fix: sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu(), {.threads = 64, .groups = 2});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_groups_of_half_warps) {
  sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu(), {.threads = 48, .groups = 2});  // here
}
