// expect: weft: a step is given a loop, a number or a word without its name
// expect: from_end = 1
// fix: s.peel(n.outer, from_end = 1);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void program(Schedule& s) {
  s.peel(n.outer, 1);  // here
}
