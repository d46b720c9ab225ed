// expect: weft: knob is not given what it takes
// expect: found: no name
// fix: s.split(n, knob("width", {2, 3}));
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.split(n, knob({2, 3}));  // here
}
