// expect: the recipe sparsert does not fit
// expect: no weights
// expect: pack(matrix, formats::csr())
// fix: sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_without_weights) {
  sparsert(product(DType::f32), nullptr, target_named("sm_80"));  // here
}
