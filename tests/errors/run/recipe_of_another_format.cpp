// expect: the recipe shfl_bw does not fit
// expect: weights in csr
// expect: pack(matrix, formats::shfl_bw())
// fix: shfl_bw(product(), as(formats::shfl_bw()), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_of_another_format) {
  shfl_bw(product(), as(formats::csr()), gpu());  // here
}
