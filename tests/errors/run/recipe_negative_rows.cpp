// expect: a knob of sparsert is out of its range
// expect: found:    rows = -8
// expect: tried, and legal: rows = -8 left out
// fix: sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu(), {});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_negative_rows) {
  sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu(), {.rows = -8});  // here
}
