// expect: would be nested with other thread loops in one place than in another
// expect: thread loops that are nested alike wherever they stand
// expect: program conv2d
// fix:
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

// Where results are stored, q would stand around p; in the sum it stays inside.
WEFT_ILLEGAL_PROGRAM(reorder_threads_in_one_place) {
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  auto s = test::convolution_schedule("sm_80", formats::csc());
  s.reorder(LoopName("c_r_s"), p, q, LoopName("f.stored")).bind(q, thread).bind(p, thread);
  s.reorder(f, p);  // here
}
