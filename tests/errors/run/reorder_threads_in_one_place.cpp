// expect: would be nested with other thread loops in one place than in another
// expect: thread loops that are nested alike wherever they stand
// expect: this step in front of .reorder("c_r_s", p, q, "f.stored") (reorder_threads_in_one_place.cpp:
// expect: program conv2d
// fix:   s.reorder(f, p).reorder(sum, p, q, stored).bind(q, thread).bind(p, thread);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

// Where results are stored, q would stand around p; in the sum it stays inside.
WEFT_ILLEGAL_PROGRAM(reorder_threads_in_one_place) {
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  const LoopName sum("c_r_s"), stored("f.stored");
  auto s = test::convolution_schedule("sm_80", formats::csc());
  s.reorder(sum, p, q, stored).bind(q, thread).bind(p, thread).reorder(f, p);  // here
}
