// expect: weft: a loop is given a factor that is neither an integer nor a knob
// expect: found: the type beside Found
// fix: s.split(n = knob("width", {2, 3}));
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.split(n = {2, 3});  // here
}
