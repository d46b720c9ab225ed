// expect: the program is too long to compile
// expect: with these loops written out: m.inner (130 times), and copies of B
// expect: leave out the step that unrolls or vectorizes m.inner
// expect: or leave out the step that copies B
// fix: s.split(m = 130);
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_too_long) {
  Schedule s = schedule(product(DType::f32), *as(formats::csr(), DType::f32), target_named("cpu"));
  s.split(m = 130).unroll(m.inner);  // there
  s.peel(n, from_begin = 2, from_end = 3).peel(k, from_begin = 1, from_end = 1);
  s.stage("B", shared, at = n);
  compile(s);  // here
}
