// expect: f would be nested with other thread loops in one place than in another
// expect: thread loops that are nested alike wherever they stand
// expect: a schedule without .bind(f, thread) (bind_axis_twice_in_one_place.cpp:
// expect: program conv2d
// fix: s.stage("A", registers, at = b);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

// f stands in two places, and p is inside it in the second.
WEFT_ILLEGAL_PROGRAM(bind_axis_twice_in_one_place) {
  WEFT_INDEX(b);
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  auto s = test::convolution_schedule("sm_80", formats::ell());
  s.stage("A", registers, at = b).bind(f, thread);  // there
  s.bind(p, thread);                                // here
}
