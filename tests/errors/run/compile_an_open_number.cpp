// expect: a schedule with open numbers cannot be compiled
// expect: tile_n in .split(n = knob("tile_n", {32, 64}))
// expect: .split(n = 32)
// fix: s.split(n = 32);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_an_open_number) {
  auto s = spmm_schedule("cpu");
  s.split(n = knob("tile_n", {32, 64}));  // here
  compile(s);
}
