// expect: the recipe shfl_bw does not fit
// expect: weights of f32
// expect: converted(matrix, DType::f16)
// fix: shfl_bw(product(), as(formats::shfl_bw()), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_of_f32) {
  shfl_bw(product(DType::f32), as(formats::shfl_bw(), DType::f32), gpu());  // here
}
