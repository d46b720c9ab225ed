// expect: a knob of sparsert is out of its range
// expect: rows = 2147483648
// expect: rows from 1 to
// fix: sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu(), {.rows = 32});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_huge_rows) {
  sparsert(product(DType::f32), as(formats::csr(), DType::f32), gpu(), {.rows = 1LL << 31});  // here
}
