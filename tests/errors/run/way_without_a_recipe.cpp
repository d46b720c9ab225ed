// expect: a way to make a kernel has no recipe
// expect: a way of choose()
// fix: schedule_of_way(choose(product(DType::f32), matrix(), gpu()).first(), product(DType::f32), matrix(),
// nullptr, gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(way_without_a_recipe) {
  schedule_of_way(Way(), product(DType::f32), matrix(), nullptr, gpu());  // here
}
