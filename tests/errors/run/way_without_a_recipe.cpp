// expect: a way to make a kernel has no recipe
// expect: a way of choose()
// fix: const Way way = choose(product(DType::f32), matrix(), gpu()).first();
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(way_without_a_recipe) {
  const Way way{};                                                      // there
  schedule_of_way(way, product(DType::f32), matrix(), nullptr, gpu());  // here
}
