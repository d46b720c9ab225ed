// expect: weft: split or tile is not given loops with a number or a knob each
// fix: s.split(n, knob("width", {2, 3}));
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.split(n, {2, 3});  // here
}
