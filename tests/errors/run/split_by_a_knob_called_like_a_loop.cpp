// expect: a knob called m, as a loop of the program is
// expect: another name for the knob, as m_choice
// fix: s.split(n = knob("m_choice", {32, 64}));
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(split_by_a_knob_called_like_a_loop) {
  auto s = spmm_schedule("cpu");
  s.split(n = knob("m", {32, 64}));  // here
}
