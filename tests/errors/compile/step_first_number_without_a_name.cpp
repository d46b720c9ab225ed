// expect: weft: a step is given a loop, a number or a word without its name
// expect: blocks = 132
// fix: s.resident(blocks = 1);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void program(Schedule& s) {
  s.resident(1);  // here
}
