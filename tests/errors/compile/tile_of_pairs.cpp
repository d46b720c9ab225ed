// expect: weft: split or tile is not given loops with a number or a knob each
// expect: .split(m = 4, n = 64)
// fix: s.tile(m = 4, n = 64);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);

void program(Schedule& s) {
  s.tile({m, 4}, {n, 64});  // here
}
