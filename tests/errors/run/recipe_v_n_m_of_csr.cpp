// expect: the recipe v_n_m does not fit
// expect: weights in csr
// expect: pack(matrix, formats::column_quads())
// fix: v_n_m(product(), as(formats::column_quads()), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_v_n_m_of_csr) {
  v_n_m(product(), as(formats::csr()), gpu());  // here
}
