// expect: the weights do not have the shape of A
// expect: 96 rows and 128 columns
// expect: [128, 96]
// fix: choose(product(DType::f32), matrix(), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_for_other_weights) {
  choose(product(DType::f32), synthetic_layer({.rows = 96, .columns = 128}), gpu());  // here
}
