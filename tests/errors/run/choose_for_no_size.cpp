// expect: open_size = 0
// expect: open_size = 1 to
// fix: choose(product(DType::f32), matrix(), gpu(), {.open_size = 64});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_for_no_size) {
  choose(product(DType::f32), matrix(), gpu(), {.open_size = 0});  // here
}
