// expect: there is no way to make a kernel
// expect: a Choice of choose()
// fix: static_cast<void>(choose(product(DType::f32), matrix(), gpu()).first().text());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choice_without_ways) {
  static_cast<void>(Choice().first().text());  // here
}
