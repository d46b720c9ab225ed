// expect: there is nothing to choose a format for
// expect: an Algorithm without operands
// fix: choose(product(DType::f32), matrix(), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_without_an_algorithm) {
  choose(Algorithm(), matrix(), gpu());  // here
}
